// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package targetsyncs_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/controller/targetsyncs"
	"espalier.dev/internal/target"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/managed"
	"espalier.dev/internal/testkit/relay"
	"espalier.dev/internal/testkit/traffic"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// world is a namespace in which the controller of TargetSyncs works, and a source: another namespace of the same API server, reached under
// a different address.
type world struct {
	*managed.World
	source  string
	garden  *traffic.Traffic
	address string // kubeconfig of the source
}

// newWorld is a world without a running controller.
func newWorld(t *testing.T) *world {
	t.Helper()
	t.Parallel()
	w := &world{World: managed.NewWorld(t, managed.Controllers(targetsyncs.Name)), garden: traffic.New()}
	w.source = w.APIServer.Namespace(t)
	plain, err := rest.TransportFor(w.Config())
	if err != nil {
		t.Fatal(err)
	}
	front, err := relay.NewFront(w.Config().Host, w.garden.Wrap(plain))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(front.Close)
	if w.address, err = front.Kubeconfig(); err != nil {
		t.Fatal(err)
	}
	w.Create(secret(w.Namespace, "access", w.address))
	return w
}

func secret(namespace, name, kubeconfig string) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Data:       map[string][]byte{"kubeconfig": []byte(kubeconfig), "more": []byte("of " + name)},
	}
}

// offer adds Secrets with kubeconfigs to the source.
func (w *world) offer(names ...string) {
	w.Helper()
	for _, name := range names {
		w.Create(secret(w.source, name, "kubeconfig of "+name))
	}
}

func (w *world) targetSync(name, expression string) *lsv1alpha1.TargetSync {
	return &lsv1alpha1.TargetSync{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: name},
		Spec: lsv1alpha1.TargetSyncSpec{
			SourceNamespace: w.source, SecretRef: lsv1alpha1.LocalSecretReference{Name: "access", Key: "kubeconfig"},
			SecretNameExpression: expression,
		},
	}
}

// follow creates a TargetSync and waits until it is done.
func (w *world) follow(expression string) *lsv1alpha1.TargetSync {
	w.Helper()
	ts := w.targetSync("sync", expression)
	w.Create(ts)
	return w.synchronised(ts)
}

// unfollow deletes a TargetSync, and with it everything that it has created.
func (w *world) unfollow(ts *lsv1alpha1.TargetSync) {
	w.Helper()
	w.Delete(ts)
	w.gone(ts)
	w.have("", "access")
}

// withdraw deletes a Secret of the source, and waits until its pair is gone.
func (w *world) withdraw(name string) {
	w.Helper()
	w.Delete(secret(w.source, name, ""))
	w.gone(testkit.Target(w.Namespace, name).Build(), secret(w.Namespace, name, ""))
}

// lead changes the kubeconfig in a Secret of the namespace.
func (w *world) lead(name, kubeconfig string) {
	w.Helper()
	w.Patch(secret(w.Namespace, name, ""), fmt.Sprintf(`{"data":{"kubeconfig":%q}}`, base64.StdEncoding.EncodeToString([]byte(kubeconfig))))
}

// account creates the service account whose tokens the source's kubeconfig uses.
func (w *world) account() {
	w.Helper()
	w.Create(&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: w.source, Name: "front"}})
}

// tokens returns how many of its tokens were requested.
func (w *world) tokens() int {
	return w.garden.Number("POST /api/v1/namespaces/" + w.source + "/serviceaccounts/front/token")
}

// rotate requests another token, and waits until that is done.
func (w *world) rotate(ts *lsv1alpha1.TargetSync) {
	w.Helper()
	w.Annotate(ts, lsv1alpha1.RotateTokenAnnotation, "")
	testkit.Eventually(w.T, w.APIServer, ts, testkit.Is("rotated again", func(ts *lsv1alpha1.TargetSync) bool {
		return ts.Status.LastTokenRotationTime != nil && len(ts.Annotations) == 0
	}))
}

// synchronised waits until a TargetSync is done with its current generation, and has no pending request.
func (w *world) synchronised(ts *lsv1alpha1.TargetSync) *lsv1alpha1.TargetSync {
	w.Helper()
	return testkit.Eventually(w.T, w.APIServer, ts, testkit.Is("synchronised", func(ts *lsv1alpha1.TargetSync) bool {
		return ts.Status.ObservedGeneration == ts.Generation && readyIs(ts, lsv1alpha1.ConditionTrue) && len(ts.Status.LastErrors) == 0 &&
			ts.Annotations[lsv1alpha1.OperationAnnotation] == ""
	}))
}

// failing waits until a TargetSync reports an error that contains a text.
func (w *world) failing(ts *lsv1alpha1.TargetSync, text string) *lsv1alpha1.TargetSync {
	w.Helper()
	return testkit.Eventually(w.T, w.APIServer, ts, testkit.Is("failing with "+text, func(ts *lsv1alpha1.TargetSync) bool {
		return readyIs(ts, lsv1alpha1.ConditionFalse) && strings.Contains(strings.Join(ts.Status.LastErrors, "\n"), text)
	}))
}

func readyIs(ts *lsv1alpha1.TargetSync, status lsv1alpha1.ConditionStatus) bool {
	for _, c := range ts.Status.Conditions {
		if c.Type == lsv1alpha1.ConditionReady {
			return c.Status == status && c.ObservedGeneration == ts.Generation
		}
	}
	return false
}

// awaitPair waits for a Target and a Secret with the content of a Secret in the source.
func (w *world) awaitPair(name, kubeconfig string) {
	w.Helper()
	made := testkit.Eventually(w.T, w.APIServer, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: name}},
		testkit.Is("a copy of "+kubeconfig, func(s *corev1.Secret) bool { return string(s.Data["kubeconfig"]) == kubeconfig }))
	if made.Labels[lsv1alpha1.TargetSyncLabel] != "ok" || made.Type != corev1.SecretTypeOpaque {
		w.Errorf("Secret %s has the labels %v and the type %s", name, made.Labels, made.Type)
	}
	target := testkit.Eventually(w.T, w.APIServer, testkit.Target(w.Namespace, name).Build(), there[*lsv1alpha1.Target]())
	want := lsv1alpha1.TargetSpec{
		Type: lsv1alpha1.TargetTypeKubernetesCluster, SecretRef: &lsv1alpha1.LocalSecretReference{Name: name, Key: "kubeconfig"},
	}
	if diff := cmp.Diff(want, target.Spec); diff != "" || target.Labels[lsv1alpha1.TargetSyncLabel] != "ok" {
		w.Errorf("Target %s has labels %v and this spec (-want +got):\n%s", name, target.Labels, diff)
	}
}

func there[T client.Object]() testkit.Condition[T] {
	return testkit.Is("there", func(T) bool { return true })
}

// pairs returns the names of all Targets and of all Secrets in the namespace.
func (w *world) pairs() (targets, secrets string) {
	w.Helper()
	var ts lsv1alpha1.TargetList
	var ss corev1.SecretList
	for _, list := range []client.ObjectList{&ts, &ss} {
		if err := w.Client().List(w.Context(), list, client.InNamespace(w.Namespace)); err != nil {
			w.Fatal(err)
		}
	}
	var targetNames, secretNames []string
	for i := range ts.Items {
		targetNames = append(targetNames, ts.Items[i].Name)
	}
	for i := range ss.Items {
		secretNames = append(secretNames, ss.Items[i].Name)
	}
	return strings.Join(targetNames, " "), strings.Join(secretNames, " ")
}

// have checks which Targets and Secrets the namespace contains.
func (w *world) have(targets, secrets string) {
	w.Helper()
	if t, s := w.pairs(); t != targets || s != secrets {
		w.Errorf("there are the Targets %q and the Secrets %q, not %q and %q", t, s, targets, secrets)
	}
}

func (w *world) gone(objects ...client.Object) {
	w.Helper()
	for _, object := range objects {
		testkit.EventuallyGone(w.T, w.APIServer, object)
	}
}

// content returns the Secret with the given name.
func (w *world) content(name string) *corev1.Secret {
	w.Helper()
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: name}}
	if !w.Read(s) {
		w.Fatalf("Secret %s is gone", name)
	}
	return s
}

// shoots answers requests for kubeconfigs of shoots, each time with a different one.
func (w *world) shoots(kubeconfig func(shoot string, seconds float64) (string, bool)) {
	w.garden.AnswerWith(func(request *http.Request) *http.Response {
		path, found := strings.CutSuffix(request.URL.Path, "/adminkubeconfig")
		if !found {
			return nil
		}
		var asked struct {
			APIVersion, Kind string
			Spec             struct{ ExpirationSeconds float64 }
		}
		body, _ := io.ReadAll(request.Body)
		if json.Unmarshal(body, &asked) != nil || asked.Kind != "AdminKubeconfigRequest" || request.Method != http.MethodPost ||
			asked.APIVersion != "authentication.gardener.cloud/v1alpha1" {
			return traffic.Refusal(request, http.StatusBadRequest, metav1.StatusReasonBadRequest)
		}
		content, ok := kubeconfig(path[strings.LastIndex(path, "/")+1:], asked.Spec.ExpirationSeconds)
		if !ok {
			return traffic.Refusal(request, http.StatusForbidden, metav1.StatusReasonForbidden)
		}
		answer, _ := json.Marshal(map[string]any{"status": map[string]any{
			"kubeconfig": []byte(content), "expirationTimestamp": "2126-01-02T03:04:05Z",
		}})
		return &http.Response{
			StatusCode: http.StatusCreated, Request: request, ProtoMajor: 1, ProtoMinor: 1,
			Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader(answer)),
		}
	})
}

// sameData reports whether two Secrets have the same data.
func sameData(a, b *corev1.Secret) bool { return maps.EqualFunc(a.Data, b.Data, bytes.Equal) }

// shootDefinition is the part of Gardener's Shoot CRD that a plain API server can serve.
func shootDefinition() *apiextensionsv1.CustomResourceDefinition {
	open := true
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{
			Name:        "shoots." + target.ShootKind.Group,
			Annotations: map[string]string{"api-approved.kubernetes.io": "unapproved, for tests"},
		},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: target.ShootKind.Group, Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "shoots", Singular: "shoot", Kind: "Shoot", ListKind: "ShootList"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: target.ShootKind.Version, Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{
					OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: &open},
				},
			}},
		},
	}
}
