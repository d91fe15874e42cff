// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package installations_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/confidential"
	"espalier.dev/internal/dataflow"
	"espalier.dev/internal/target"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/relay"
	"espalier.dev/internal/testkit/traffic"
)

// gardenCluster is the cluster of a Target, as Gardener has one: the same API server, under a different address, with shoots.
type gardenCluster struct {
	traffic    *traffic.Traffic
	kubeconfig string
}

func newGardenCluster(w *world) *gardenCluster {
	w.Helper()
	g := &gardenCluster{traffic: traffic.New()}
	plain, err := rest.TransportFor(w.Config())
	if err != nil {
		w.Fatal(err)
	}
	front, err := relay.NewFront(w.Config().Host, g.traffic.Wrap(plain))
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(front.Close)
	if g.kubeconfig, err = front.Kubeconfig(); err != nil {
		w.Fatal(err)
	}
	g.traffic.AnswerWith(func(request *http.Request) *http.Response {
		if !strings.HasSuffix(request.URL.Path, "/shoots/east/adminkubeconfig") {
			return nil
		}
		answer := fmt.Sprintf(`{"status":{"kubeconfig":%q,"expirationTimestamp":"2126-01-02T03:04:05Z"}}`,
			base64.StdEncoding.EncodeToString([]byte("kubeconfig of east")))
		return &http.Response{
			StatusCode: http.StatusCreated, Request: request, ProtoMajor: 1, ProtoMinor: 1,
			Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(answer)),
		}
	})
	w.create(&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "robot"}})
	w.create(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "garden-access"},
		Data: map[string][]byte{"kubeconfig": []byte(g.kubeconfig)}})
	w.create(testkit.Target(w.namespace, "garden").Secret("garden-access", "kubeconfig").Build())
	return g
}

// tokens returns how many tokens were requested.
func (g *gardenCluster) tokens() int { return g.traffic.Number("/serviceaccounts/robot/token") }

// asking deploys what clusters issue, in both template languages, and exports one of the values from an import execution.
func asking(namespace string) string {
	return header + strings.ReplaceAll(`
imports: [{name: cluster, type: target, targetType: landscaper.gardener.cloud/kubernetes-cluster}]
exports: [{name: word, schema: {type: string}}]
importExecutions:
- name: early
  type: GoTemplate
  template: |
    bindings: {early: {{ getServiceAccountKubeconfig "robot" "NS" 7200 .imports.cluster }}}
deployExecutions:
- name: go
  type: GoTemplate
  template: |
    {{ $timed := getServiceAccountKubeconfigWithExpirationTimestamp "robot" "NS" 3600 .imports.cluster }}
    deployItems:
    - name: go
      type: landscaper.gardener.cloud/mock
      config:
        apiVersion: mock.deployer.landscaper.gardener.cloud/v1alpha1
        kind: ProviderConfiguration
        export:
          early: {{ .imports.early }}
          again: {{ getServiceAccountKubeconfig "robot" "NS" 7200 .imports.cluster }}
          timed: {{ toJson $timed }}
          login: {{ getOidcKubeconfig "https://issuer.example.com" "client" .imports.cluster }}
- name: spiff
  type: Spiff
  template:
    deployItems:
    - name: spiff
      type: landscaper.gardener.cloud/mock
      config:
        apiVersion: mock.deployer.landscaper.gardener.cloud/v1alpha1
        kind: ProviderConfiguration
        export:
          shoot: (( getShootAdminKubeconfig("east", "NS", 3600.0, imports.cluster) || "nothing" ))
          timed: (( getShootAdminKubeconfigWithExpirationTimestamp("east", "NS", 3600, imports.cluster) ))
exportExecutions:
- name: default
  type: GoTemplate
  template: |
    exports: {word: {{ .imports.early }}}
`, "NS", namespace)
}

// deployed returns the values that a deploy item of the installation app is configured with, in base64 or as objects.
func (w *world) deployed(item string) map[string]any {
	w.Helper()
	var items lsv1alpha1.DeployItemList
	if err := w.cluster.List(w.Context(), &items, client.InNamespace(w.namespace)); err != nil {
		w.Fatal(err)
	}
	for i := range items.Items {
		if items.Items[i].Labels[lsv1alpha1.ExecutionManagedNameLabel] == item {
			var config struct{ Export map[string]any }
			if err := json.Unmarshal(items.Items[i].Spec.Configuration.Raw, &config); err != nil {
				w.Fatal(err)
			}
			return config.Export
		}
	}
	w.Fatalf("there is no deploy item %s", item)
	return nil
}

func decoded(t *testing.T, value any) string {
	t.Helper()
	text, err := base64.StdEncoding.DecodeString(fmt.Sprint(value))
	if err != nil || len(text) == 0 {
		t.Fatalf("%v is no base64: %v", value, err)
	}
	return string(text)
}

func TestTemplatesAskClustersOfImportedTargets(t *testing.T) {
	w := newWorld(t)
	g := newGardenCluster(w)
	w.create(w.installation("app", asking(w.namespace)).ImportTarget("cluster", "garden").ExportData("word", "word").Reconcile().Build())
	w.finished("app", lsv1alpha1.PhaseSucceeded)

	export := w.deployed("go")
	early := decoded(t, export["early"])
	if user, err := target.OnlyUser([]byte(early)); err != nil || user != "robot" {
		t.Errorf("the kubeconfig is of %q: %v", user, err)
	}
	config, err := clientcmd.Load([]byte(early))
	if err != nil || config.CurrentContext != "front" || config.Clusters["front"] == nil || !strings.HasPrefix(config.AuthInfos["robot"].Token, "ey") {
		t.Errorf("the kubeconfig leads elsewhere: %v", err)
	}
	if export["again"] != export["early"] || w.exported() != `"`+fmt.Sprint(export["early"])+`"` {
		t.Error("a call with the same arguments gives something else in the same job")
	}
	timed := export["timed"].(map[string]any)
	ends, err := time.Parse(time.RFC3339, fmt.Sprint(timed["expirationTimestampReadable"]))
	if err != nil || float64(ends.Unix()) != timed["expirationTimestamp"] || decoded(t, timed["kubeconfig"]) == early ||
		time.Until(ends) > 2*time.Hour {
		t.Errorf("it ends at %v, that is %v: %v", timed["expirationTimestamp"], timed["expirationTimestampReadable"], err)
	}
	if login := decoded(t, export["login"]); !strings.Contains(login, "--oidc-issuer-url=https://issuer.example.com") ||
		!strings.Contains(login, "--oidc-client-id=client") || strings.Contains(login, "token: anybody") {
		t.Errorf("people log in by %s", login)
	}
	shoot := w.deployed("spiff")
	if decoded(t, shoot["shoot"]) != "kubeconfig of east" ||
		shoot["timed"].(map[string]any)["expirationTimestampReadable"] != "2126-01-02T03:04:05Z" {
		t.Errorf("the shoot is %v", shoot)
	}
	if got := g.tokens(); got != 2 {
		t.Errorf("%d tokens were requested for two calls", got)
	}

	w.again("app")
	if got := g.tokens(); got != 4 || decoded(t, w.deployed("go")["early"]) == early {
		t.Errorf("after another job %d tokens were requested", got)
	}
	w.delete("app")
	testkit.EventuallyGone(t, w.server, w.named("app"))
	answers := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: dataflow.AnswersSecret("app")}}
	if w.get(answers) {
		t.Error("the answers of clusters have outlived the installation")
	}
}

// A user who asks for too much learns what is wrong, and sees no credential.
func TestCallsOfClustersThatAreRefused(t *testing.T) {
	w := newWorld(t)
	g := newGardenCluster(w)
	w.create(testkit.Target(w.namespace, "other").Kubeconfig(g.kubeconfig).Build())
	self := testkit.Target(w.namespace, "self").
		Config(lsv1alpha1.KubernetesClusterConfig{SelfConfig: &lsv1alpha1.SelfConfig{ServiceAccount: lsv1alpha1.LocalObjectReference{Name: "robot"}}}).Build()
	w.create(self)
	for name, test := range map[string]struct{ call, want string }{
		"a Target that is not imported": {
			fmt.Sprintf(`getServiceAccountKubeconfig "robot" "%s" 3600 (dict "metadata" (dict "name" "other" "namespace" "%s"))`, w.namespace, w.namespace),
			"not one that the installation imports"},
		"seconds that are a text": {`getServiceAccountKubeconfig "robot" "x" "3600" .imports.cluster`, "argument 3, the seconds, must be"},
		"too few arguments":       {`getServiceAccountKubeconfig "robot" .imports.cluster`, "it takes 4 arguments, not 2"},
		"a way out of the path":   {`getShootAdminKubeconfig "../../x" "x" 3600 .imports.cluster`, "argument 1, the name, must be the name of an object"},
		"no target":               {`getOidcKubeconfig "a" "b" "c"`, "argument 3, the target, must be a Target"},
		"too short a life": {
			fmt.Sprintf(`getServiceAccountKubeconfig "robot" "%s" 60 .imports.cluster`, w.namespace),
			"cannot get a token of service account " + w.namespace + "/robot"},
		"the own cluster": {`getOidcKubeconfig "a" "b" .imports.self`, "Target with selfConfig"},
	} {
		t.Run(name, func(t *testing.T) {
			app := strings.ToLower(strings.ReplaceAll(name, " ", "-"))
			blueprint := header + `
imports:
- {name: cluster, type: target, targetType: landscaper.gardener.cloud/kubernetes-cluster}
- {name: self, type: target, targetType: landscaper.gardener.cloud/kubernetes-cluster}
deployExecutions:
- name: default
  type: GoTemplate
  template: |
    {{ $unused := .imports.self }}deployItems: []
    x: {{ ` + test.call + ` }}
`
			w.create(w.installation(app, blueprint).ImportTarget("cluster", "garden").ImportTarget("self", "self").Reconcile().Build())
			inst := testkit.EventuallyFinished(t, w.server, w.named(app), lsv1alpha1.PhaseFailed)
			if inst.Status.LastError == nil || !strings.Contains(inst.Status.LastError.Message, test.want) {
				t.Errorf("got %+v, not %s", inst.Status.LastError, test.want)
			}
		})
	}
}

// A credential that a template puts where it is rejected is masked, like an imported Secret.
func TestWhatClustersGiveIsMasked(t *testing.T) {
	w := newWorld(t)
	newGardenCluster(w)
	blueprint := header + fmt.Sprintf(`
imports: [{name: cluster, type: target, targetType: landscaper.gardener.cloud/kubernetes-cluster}]
deployExecutions:
- name: default
  type: GoTemplate
  template: |
    {{ $kubeconfig := getServiceAccountKubeconfig "robot" "%s" 3600 .imports.cluster | b64dec | fromYaml }}
    deployItems:
    - name: only
      type: landscaper.gardener.cloud/kubernetes-manifest
      target: {import: cluster}
      config:
        apiVersion: manifest.deployer.landscaper.gardener.cloud/v1alpha2
        kind: ProviderConfiguration
        manifests:
        - policy: manage
          manifest:
            apiVersion: v1
            kind: ConfigMap
            metadata: {name: x, namespace: default, labels: {token: {{ (index $kubeconfig.users 0).user.token }} } }
`, w.namespace)
	w.create(w.installation("app", blueprint).ImportTarget("cluster", "garden").Reconcile().Build())
	inst := w.finished("app", lsv1alpha1.PhaseFailed)
	answers := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: dataflow.AnswersSecret("app")}}
	if !w.get(answers) {
		t.Fatal("the answers are not kept")
	}
	kubeconfig := dataflow.AnswersIn(answers.Data)[0]
	config, err := clientcmd.Load([]byte(kubeconfig))
	if err != nil {
		t.Fatal(err)
	}
	token := config.AuthInfos["robot"].Token
	secrets := confidential.Reader{Live: w.cluster}.OfInstallation(t.Context(), inst)
	for _, shown := range []string{token, base64.StdEncoding.EncodeToString([]byte(kubeconfig))} {
		if text := secrets.Text("refused: " + shown); strings.Contains(text, shown[len(shown)/2:]) {
			t.Errorf("an error of any controller would show it: %s", text)
		}
	}
	status, err := json.Marshal(inst.Status)
	if err != nil {
		t.Fatal(err)
	}
	var items lsv1alpha1.DeployItemList
	if err := w.cluster.List(w.Context(), &items, client.InNamespace(w.namespace)); err != nil || len(items.Items) != 1 {
		t.Fatalf("%d deploy items: %v", len(items.Items), err)
	}
	below, err := json.Marshal(items.Items[0].Status)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{string(status), string(below)} {
		if strings.Contains(text, token[len(token)-40:]) || strings.Contains(text, token[:60]) {
			t.Errorf("a status shows the token: %s", text)
		}
	}
}
