// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package targetsyncs_test

import (
	"fmt"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/target"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/traffic"
)

func TestSecretsOfTheSourceBecomeTargets(t *testing.T) {
	w := newWorld(t)
	w.offer("cluster-a", "cluster-b", "cluster-c", "else")
	w.Manage()
	ts := w.targetSync("sync", "^cluster-")
	ts.Spec.CreateTargetToSource, ts.Spec.TargetToSourceName = true, "garden"
	ts.Annotations = map[string]string{lsv1alpha1.OperationAnnotation: "reconcile"}
	w.Create(ts)
	ts = w.synchronised(ts)
	w.have("cluster-a cluster-b cluster-c garden", "access cluster-a cluster-b cluster-c")
	w.awaitPair("cluster-a", "kubeconfig of cluster-a")
	if original := secret(w.source, "cluster-b", ""); !w.Read(original) || !sameData(original, w.content("cluster-b")) {
		t.Error("the copy has another content")
	}
	garden := testkit.Target(w.Namespace, "garden").Build()
	w.Read(garden)
	if diff := cmp.Diff(&lsv1alpha1.LocalSecretReference{Name: "access", Key: "kubeconfig"}, garden.Spec.SecretRef); diff != "" {
		t.Errorf("Secret of the source's Target (-want +got):\n%s", diff)
	}
	if ts.Status.LastUpdateTime == nil || ts.Finalizers[0] != lsv1alpha1.Finalizer {
		t.Errorf("the TargetSync is %+v", ts)
	}

	w.Patch(secret(w.source, "cluster-a", ""), `{"stringData":{"kubeconfig":"another"}}`)
	w.awaitPair("cluster-a", "another")
	w.withdraw("cluster-b")

	w.Delete(secret(w.Namespace, "cluster-c", "")) // somebody deletes what was created
	w.awaitPair("cluster-c", "kubeconfig of cluster-c")
	w.Patch(secret(w.Namespace, "cluster-c", ""), `{"stringData":{"kubeconfig":"tampered"}}`)
	w.awaitPair("cluster-c", "kubeconfig of cluster-c")

	w.Patch(ts, `{"spec":{"secretNameExpression":"a$","createTargetToSource":false}}`)
	w.synchronised(ts)
	w.have("cluster-a", "access cluster-a")
	w.unfollow(ts)
}

// Without its finalizer, a TargetSync would leave everything behind.
func TestAFinalizerThatSomebodyRemovesComesBack(t *testing.T) {
	w := newWorld(t)
	w.offer("a")
	w.Manage()
	ts := w.follow("a")
	w.Patch(ts, `{"metadata":{"finalizers":null}}`)
	testkit.Eventually(t, w.APIServer, ts, testkit.Is("whole", func(s *lsv1alpha1.TargetSync) bool { return len(s.Finalizers) > 0 }))
	w.unfollow(ts)
}

// The expression is not anchored, * means all, and without one only the Target of the source exists, with the name of the namespace.
func TestExpressions(t *testing.T) {
	w := newWorld(t)
	w.offer("ab", "cb", "x")
	w.Create(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.source, Name: "token", Annotations: map[string]string{
		corev1.ServiceAccountNameKey: "default",
	}}, Type: corev1.SecretTypeServiceAccountToken})
	w.Manage()
	ts := w.follow("b")
	w.have("ab cb", "ab access cb")
	w.Patch(ts, `{"spec":{"secretNameExpression":"*"}}`)
	w.synchronised(ts)
	w.have("ab cb token x", "ab access cb token x")
	w.Patch(ts, `{"spec":{"secretNameExpression":null,"createTargetToSource":true}}`)
	w.synchronised(ts)
	w.have(w.source, "access")
}

func TestTwoTargetSyncsInANamespaceDoNothing(t *testing.T) {
	w := newWorld(t)
	w.offer("a")
	one, two := w.targetSync("one", "*"), w.targetSync("two", "*")
	two.Annotations = map[string]string{lsv1alpha1.OperationAnnotation: "reconcile"}
	w.Create(one, two)
	w.Manage()
	w.failing(one, "the namespace has another TargetSync, two")
	two = w.failing(two, "the namespace has another TargetSync, one")
	testkit.Eventually(t, w.APIServer, two, testkit.Is("not asked any more", func(ts *lsv1alpha1.TargetSync) bool {
		return ts.Annotations[lsv1alpha1.OperationAnnotation] == ""
	}))
	w.have("", "access")
	w.Delete(two)
	w.gone(two)
	w.synchronised(one)
	w.have("a", "a access")

	// Deleting a newcomer removes nothing else.
	w.Create(w.targetSync("three", "nothing"))
	w.failing(one, "the namespace has another TargetSync, three")
	before := w.content("a")
	three := w.targetSync("three", "")
	w.Delete(three)
	w.gone(three)
	w.synchronised(one)
	if after := w.content("a"); after.UID != before.UID || after.ResourceVersion != before.ResourceVersion {
		t.Error("the Secret was made anew")
	}
}

func TestWhatSomebodyElseHasMadeStaysAsItIs(t *testing.T) {
	w := newWorld(t)
	w.offer("a", "b", "c", "d", "access")
	foreignTarget := testkit.Target(w.Namespace, "a").Kubeconfig("mine").Build()
	foreignSecret := secret(w.Namespace, "b", "mine")
	handedOver := secret(w.Namespace, "c", "mine") // and so is one that Landscaper has created
	handedOver.Labels = map[string]string{lsv1alpha1.TargetSyncLabel: lsv1alpha1.TargetSyncOK}
	w.Create(foreignTarget, foreignSecret, handedOver)
	w.Manage()
	ts := w.targetSync("sync", "*")
	w.Create(ts)
	ts = w.failing(ts, "Secret b exists and was not created by a TargetSync")
	all := strings.Join(ts.Status.LastErrors, "\n")
	for _, want := range []string{"Target a exists and was not created", "Secret or shoot access, which is the name of the Secret in spec.secretRef"} {
		if !strings.Contains(all, want) {
			t.Errorf("%q is missing in\n%s", want, all)
		}
	}
	w.awaitPair("c", "kubeconfig of c")
	w.awaitPair("d", "kubeconfig of d")
	w.have("a c d", "access b c d")
	for _, name := range []string{"b", "access"} {
		if got := w.content(name); len(got.Labels) > 0 {
			t.Errorf("Secret %s was taken over: %v", name, got.Labels)
		}
	}
	w.Delete(foreignTarget)
	w.Delete(foreignSecret)
	w.Delete(secret(w.source, "access", ""))
	w.synchronised(ts)
	w.have("a b c d", "a access b c d")
}

// Every mistake is reported, without a secret, and recovered from without a request.
func TestMistakesAreReported(t *testing.T) {
	const canary = "c4n4ry-t0ken-that-nobody-may-see"
	w := newWorld(t)
	w.offer("a")
	w.Manage()
	ts := w.targetSync("sync", "a(")
	w.Create(ts)
	w.failing(ts, "spec.secretNameExpression is not a regular expression")
	w.Patch(ts, `{"spec":{"secretNameExpression":"a","shootNameExpression":"b"}}`)
	w.failing(ts, "both secretNameExpression and shootNameExpression")
	w.Patch(ts, `{"spec":{"shootNameExpression":"","sourceNamespace":"../kube-system"}}`)
	w.failing(ts, "which is not a valid namespace name")
	w.Patch(ts, fmt.Sprintf(`{"spec":{"sourceNamespace":%q,"secretRef":{"name":"absent"}}}`, w.source))
	w.failing(ts, "the Secret absent of spec.secretRef does not exist")
	w.Patch(ts, `{"spec":{"secretRef":{"name":"access","key":"nothing"}}}`)
	w.failing(ts, `has no key "nothing"`)
	w.Patch(ts, `{"spec":{"secretRef":{"name":"access","key":null}}}`)
	w.synchronised(ts) // the default key is kubeconfig

	evil := strings.Replace(w.address, "token: anybody", "exec: {apiVersion: v1, command: "+canary+"}", 1)
	w.Create(secret(w.Namespace, "evil", evil))
	w.Patch(ts, `{"spec":{"secretRef":{"name":"evil"}}}`)
	ts = w.failing(ts, "exec is rejected")
	w.have("a", "a access evil") // nothing is deleted because of an unreadable source
	for name, text := range map[string]string{
		"no YAML": "{" + canary, "a wrong server": strings.Replace(w.address, "https://", "http://"+canary, 1), "nothing": "",
	} {
		w.lead("evil", text)
		ts = testkit.Eventually(t, w.APIServer, ts, testkit.Is("told of "+name, func(ts *lsv1alpha1.TargetSync) bool {
			return len(ts.Status.LastErrors) > 0 && !strings.Contains(ts.Status.LastErrors[0], "exec is rejected")
		}))
		if text := fmt.Sprint(ts.Status); strings.Contains(text, canary) {
			t.Errorf("%s: the status shows a secret: %s", name, text)
		}
		w.lead("evil", evil)
		w.failing(ts, "exec is rejected")
	}
	w.lead("evil", w.address)
	w.synchronised(ts)
}

// A source that is unreachable changes nothing, and does not block the deletion of a TargetSync.
func TestASourceThatIsDown(t *testing.T) {
	w := newWorld(t)
	w.offer("a")
	w.Manage()
	ts := w.follow("*")
	nowhere := regexp.MustCompile(`https://\S+`).ReplaceAllString(w.address, "https://"+testkit.FreeAddress(t))
	w.lead("access", nowhere)
	w.failing(ts, "unreachable")
	w.have("a", "a access")
	w.unfollow(ts)
}

// A request by the annotation of Flux is handled once. A finished world stays as it is.
func TestASynchronisationThatChangesNothingWritesNothing(t *testing.T) {
	w := newWorld(t)
	w.offer("a")
	w.Manage()
	ts := w.follow("*")
	w.Annotate(ts, "reconcile.fluxcd.io/requestedAt", "now")
	testkit.Eventually(t, w.APIServer, ts, testkit.Is("heard", func(ts *lsv1alpha1.TargetSync) bool {
		return ts.Status.LastHandledReconcileAt == "now"
	}))
	secretBefore := w.content("a")
	recorder := testkit.Record(t, w.APIServer, w.Namespace,
		testkit.Kinds(&lsv1alpha1.TargetSync{}, &lsv1alpha1.Target{}, &corev1.Secret{}))
	lists := w.garden.Number("GET /api/v1/namespaces/" + w.source + "/secrets?limit")
	w.Annotate(ts, "somebody.example.com/note", "pretty") // triggers a pass
	w.garden.Await(t, "another look", func(*traffic.Traffic) bool {
		return w.garden.Number("GET /api/v1/namespaces/"+w.source+"/secrets?limit") > lists
	})
	recorder.Quiet(t, time.Second)
	if history := recorder.Of(ts); len(history.Transitions("status.lastUpdateTime")) > 1 {
		t.Errorf("the status was written: %v", history)
	}
	if after := w.content("a"); after.ResourceVersion != secretBefore.ResourceVersion {
		t.Error("the Secret was written")
	}
}

func TestTokensAreReplacedWhenDueAndNotMoreOften(t *testing.T) {
	w := newWorld(t)
	w.account()
	w.offer("a")
	w.Manage()
	ts := w.follow("*")
	w.Annotate(ts, lsv1alpha1.RotateTokenAnnotation, "true") // has no effect until rotation is enabled
	w.Patch(ts, `{"spec":{"secretNameExpression":"a"}}`)
	w.synchronised(ts)
	if got := w.tokens(); got != 0 {
		t.Fatalf("%d tokens were requested without rotation", got)
	}
	w.Patch(ts, `{"spec":{"tokenRotation":{"enabled":true}}}`)
	testkit.Eventually(t, w.APIServer, ts, testkit.Is("rotated", func(ts *lsv1alpha1.TargetSync) bool {
		_, asked := ts.Annotations[lsv1alpha1.RotateTokenAnnotation]
		return ts.Status.LastTokenRotationTime != nil && !asked && readyIs(ts, lsv1alpha1.ConditionTrue)
	}))
	first := string(w.content("access").Data["kubeconfig"])
	if user, err := target.OnlyUser([]byte(first)); err != nil || user != "front" || strings.Contains(first, "token: anybody") {
		t.Errorf("the kubeconfig has the user %q, or the token of before: %v", user, err)
	}
	w.Annotate(ts, lsv1alpha1.OperationAnnotation, "reconcile")
	w.synchronised(ts)
	if got := w.tokens(); got != 1 {
		t.Errorf("%d tokens were requested, not one", got)
	}
	w.rotate(ts)
	if got, second := w.tokens(), string(w.content("access").Data["kubeconfig"]); got != 2 || first == second {
		t.Errorf("%d tokens were requested, not two; written anew: %t", got, first != second)
	}
}

// A failed rotation is reported, and everything else is synchronised.
func TestARotationThatFailsLeavesTheTokenAsItIs(t *testing.T) {
	w := newWorld(t)
	w.offer("a")
	w.Manage()
	ts := w.targetSync("sync", "*")
	ts.Spec.TokenRotation = &lsv1alpha1.TokenRotation{Enabled: true}
	w.Create(ts)
	w.failing(ts, "cannot get a token of service account "+w.source+"/front")
	w.awaitPair("a", "kubeconfig of a")
	if got := string(w.content("access").Data["kubeconfig"]); got != w.address {
		t.Errorf("the kubeconfig is %s", got)
	}
	w.account()
	if ts = w.synchronised(ts); ts.Status.LastTokenRotationTime == nil {
		t.Error("nobody has rotated")
	}
}

func TestShootsBecomeTargets(t *testing.T) {
	w := newWorld(t)
	w.InstallCRD(t, shootDefinition())
	var number atomic.Int32
	w.shoots(func(shoot string, seconds float64) (string, bool) {
		return fmt.Sprintf("%s number %d", shoot, number.Add(1)), shoot != "locked" && seconds == 86400
	})
	for _, name := range []string{"east", "west", "locked", "other"} {
		shoot := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{}}}
		shoot.SetGroupVersionKind(target.ShootKind)
		shoot.SetNamespace(w.source)
		shoot.SetName(name)
		w.Create(shoot)
	}
	w.Manage()
	ts := w.targetSync("sync", "")
	ts.Spec.ShootNameExpression = "st$|locked"
	w.Create(ts)
	w.failing(ts, "cannot get a kubeconfig of shoot "+w.source+"/locked")
	w.Patch(ts, `{"spec":{"shootNameExpression":"st$"}}`)
	w.synchronised(ts)
	w.have("east west", "access east west")
	east := w.content("east")
	if got := string(east.Data["kubeconfig"]); !strings.HasPrefix(got, "east number ") {
		t.Errorf("the kubeconfig is %s", got)
	}
	made := testkit.Target(w.Namespace, "east").Build()
	if w.Read(made); made.Annotations[lsv1alpha1.LastTargetSyncAnnotation] == "" || made.Labels[lsv1alpha1.TargetSyncLabel] != "ok" {
		t.Errorf("the Target has %v and %v", made.Annotations, made.Labels)
	}
	// The credentials are valid for half a day; a missing Secret is noticed.
	before := number.Load()
	w.Annotate(ts, lsv1alpha1.OperationAnnotation, "reconcile")
	w.synchronised(ts)
	if after := number.Load(); after != before {
		t.Errorf("%d kubeconfigs were requested without need", after-before)
	}
	w.Delete(east)
	w.awaitPair("east", fmt.Sprintf("east number %d", before+1))
}

// The source is a separate cluster, and the kubeconfig has only the rights that it needs: it may not even watch.
func TestAnotherClusterIsReadWithFewRights(t *testing.T) {
	w := newWorld(t)
	remote := testkit.NewServer(t)
	namespace := remote.Namespace(t)
	meta := metav1.ObjectMeta{Namespace: namespace, Name: "reader"}
	reader := &corev1.ServiceAccount{ObjectMeta: meta}
	testkit.Create(t, remote, reader, secret(namespace, "east", "kubeconfig of east"), &rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"list"}},
		{APIGroups: []string{""}, Resources: []string{"serviceaccounts/token"}, Verbs: []string{"create"}, ResourceNames: []string{"reader"}},
	}}, &rbacv1.RoleBinding{
		ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "reader"},
		Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: namespace, Name: "reader"}},
	})
	request := &authenticationv1.TokenRequest{}
	if err := remote.Client().SubResource("token").Create(t.Context(), reader, request); err != nil {
		t.Fatal(err)
	}
	way := target.Way{Context: "c", Cluster: "remote", Server: remote.Config().Host, Authority: remote.Config().CAData}
	kubeconfig, err := way.WithToken("reader", request.Status.Token)
	if err != nil {
		t.Fatal(err)
	}
	w.Create(secret(w.Namespace, "remote-access", kubeconfig))
	w.Manage()
	ts := w.targetSync("sync", "*")
	ts.Spec.SourceNamespace, ts.Spec.SecretRef.Name = namespace, "remote-access"
	ts.Spec.TokenRotation = &lsv1alpha1.TokenRotation{Enabled: true}
	w.Create(ts)
	w.synchronised(ts)
	w.awaitPair("east", "kubeconfig of east")
	rotated := string(w.content("remote-access").Data["kubeconfig"])
	if rotated == kubeconfig {
		t.Fatal("the token is the one of before")
	}
	testkit.Create(t, remote, secret(namespace, "west", "kubeconfig of west"))
	w.Annotate(ts, lsv1alpha1.OperationAnnotation, "reconcile")
	w.awaitPair("west", "kubeconfig of west") // with the new token
	w.Patch(ts, `{"spec":{"sourceNamespace":"kube-system"}}`)
	w.failing(ts, "list the Secrets of namespace kube-system in the source")
	w.have("east west", "access east remote-access west")
}
