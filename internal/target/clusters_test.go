// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package target

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/failure"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/relay"
)

func TestEveryFormOfATargetLeadsToItsCluster(t *testing.T) {
	w := newWorld(t)
	text := kubeconfigFor(t, w.host, "", account(t, w.host, w.namespace, "deployer", may("configmaps", "get", "create")))
	var object map[string]any
	if err := yaml.Unmarshal([]byte(text), &object); err != nil {
		t.Fatal(err)
	}
	testkit.Create(t, w.host,
		secretWith(w.namespace, "plain", "kubeconfig", text),
		secretWith(w.namespace, "nested", "config", "kubeconfig: |\n  "+strings.ReplaceAll(text, "\n", "\n  ")))
	for name, target := range map[string]*testkit.TargetBuilder{
		"text":                      testkit.Target(w.namespace, "a").Kubeconfig(text),
		"object":                    testkit.Target(w.namespace, "b").Config(map[string]any{"kubeconfig": object}),
		"whole-content":             testkit.Target(w.namespace, "c").Config(object),
		"whole-content-as-text":     testkit.Target(w.namespace, "d").Config(text),
		"secret-key":                testkit.Target(w.namespace, "e").Secret("plain", "kubeconfig"),
		"secret-without-key":        testkit.Target(w.namespace, "f").Secret("plain", ""),
		"secret-with-target-config": testkit.Target(w.namespace, "g").Secret("nested", "config"),
	} {
		t.Run(name, func(t *testing.T) {
			cluster := w.cluster(t, target.Build())
			if err := cluster.Client().Create(t.Context(), configMap(w.namespace, name)); err != nil {
				t.Fatal(err)
			}
			read := &unstructured.Unstructured{}
			read.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
			if err := cluster.Client().Get(t.Context(), client.ObjectKey{Namespace: w.namespace, Name: name}, read); err != nil {
				t.Fatal(err)
			}
		})
	}
	if n := w.clients(); n != 1 {
		t.Errorf("there are %d clients for one credential", n)
	}
}

func (w *world) clients() int {
	w.clusters.mutex.Lock()
	defer w.clusters.mutex.Unlock()
	return len(w.clusters.clients)
}

func TestTargetsWithTheSameCredentialShareAClient(t *testing.T) {
	w := newWorld(t)
	one, two := account(t, w.host, w.namespace, "one"), account(t, w.host, w.namespace, "two")
	a := w.cluster(t, testkit.Target(w.namespace, "a").Kubeconfig(kubeconfigFor(t, w.host, "", one)).Build())
	b := w.cluster(t, testkit.Target("elsewhere", "b").Kubeconfig(kubeconfigFor(t, w.host, "", one)+"# the same\n").Build())
	c := w.cluster(t, testkit.Target(w.namespace, "c").Kubeconfig(kubeconfigFor(t, w.host, "", two)).Build())
	if a != b {
		t.Error("the same credential has two clients")
	}
	if a == c {
		t.Error("two credentials share a client")
	}
	if a.ID() != c.ID() {
		t.Error("the ID of a cluster depends on the credential")
	}
	target := testkit.NewServer(t)
	other := w.cluster(t, testkit.Target(w.namespace, "d").Cluster(t, target).Build())
	if a.ID() == other.ID() {
		t.Error("two clusters have the same ID")
	}
}

func TestFurtherClientsUseTheSameWayAndSeeNoCredential(t *testing.T) {
	w := newWorld(t)
	token := account(t, w.host, w.namespace, "deployer", may("configmaps", "list"))
	cluster := w.cluster(t, testkit.Target(w.namespace, "a").Kubeconfig(kubeconfigFor(t, w.host, "", token)).Build())
	config := cluster.Config()
	if config.BearerToken != "" || strings.Contains(fmt.Sprintf("%+v %v", config, cluster.ID()), token) {
		t.Error("the configuration contains the token")
	}
	config.UserAgent = "changed"
	if cluster.Config().UserAgent == "changed" {
		t.Error("the configuration is no copy")
	}
	further, err := client.New(config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := further.List(t.Context(), &corev1.ConfigMapList{}, client.InNamespace(w.namespace)); err != nil {
		t.Fatal(err)
	}
	if w.traffic.Number("/configmaps") != 1 {
		t.Error("the client has a way of its own")
	}
}

func TestAChangedSecretReplacesTheClient(t *testing.T) {
	w := newWorld(t)
	way := relay.New(t, w.host.Config().Host)
	first := kubeconfigFor(t, w.host, way.Address(), account(t, w.host, w.namespace, "first", may("configmaps", "list")))
	second := kubeconfigFor(t, w.host, "", account(t, w.host, w.namespace, "second", may("configmaps", "list")))
	secret := secretWith(w.namespace, "access", "kubeconfig", first)
	testkit.Create(t, w.host, secret)
	target := testkit.Target(w.namespace, "a").Secret("access", "kubeconfig").Build()
	before := w.cluster(t, target)
	mustList(t, before, w.namespace)
	woken := make(chan struct{}, 100)
	stop, err := before.Watch(
		corev1.SchemeGroupVersion.WithKind("Secret"),
		client.ObjectKeyFromObject(secret),
		func() { woken <- struct{}{} },
	)
	if err != nil {
		t.Fatal(err)
	}

	secret.Data["kubeconfig"] = []byte(second)
	if err := w.host.Client().Update(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	after := w.cluster(t, target)
	if before == after {
		t.Fatal("the client of the former credential is still in use")
	}
	mustList(t, after, w.namespace)
	awaitWake(t, woken)
	stop()
	way.AwaitConnections(t, 0)
	if w.clients() != 1 {
		t.Errorf("%d clients are kept", w.clients())
	}
}

func mustList(t *testing.T, cluster *Cluster, namespace string) {
	t.Helper()
	if err := cluster.Client().List(t.Context(), &corev1.ConfigMapList{}, client.InNamespace(namespace)); err != nil {
		t.Fatal(err)
	}
}

func awaitWake(t *testing.T, woken <-chan struct{}) {
	t.Helper()
	select {
	case <-woken:
	case <-time.After(testkit.Patience):
		t.Fatal("waited in vain to be woken")
	}
}

func TestAClientStaysAsLongAsATargetUsesIt(t *testing.T) {
	w := newWorld(t)
	one := kubeconfigFor(t, w.host, "", account(t, w.host, w.namespace, "one"))
	two := kubeconfigFor(t, w.host, "", account(t, w.host, w.namespace, "two"))
	a, b := testkit.Target(w.namespace, "a"), testkit.Target(w.namespace, "b")
	before := w.cluster(t, a.Kubeconfig(one).Build())
	w.cluster(t, b.Kubeconfig(one).Build())
	w.cluster(t, a.Kubeconfig(two).Build())
	if w.cluster(t, b.Build()) != before {
		t.Error("the client was dropped although a Target uses it")
	}
	w.cluster(t, b.Kubeconfig(two).Build())
	if w.clients() != 1 {
		t.Errorf("%d clients are kept", w.clients())
	}
}

func TestARejectedCredentialIsReadAgain(t *testing.T) {
	w := newWorld(t)
	good := account(t, w.host, w.namespace, "deployer", may("configmaps", "list"))
	secret := secretWith(w.namespace, "access", "kubeconfig", kubeconfigFor(t, w.host, "", canary))
	testkit.Create(t, w.host, secret)
	target := testkit.Target(w.namespace, "a").Secret("access", "kubeconfig").Build()
	before := w.cluster(t, target)
	err := before.Client().List(t.Context(), &corev1.ConfigMapList{}, client.InNamespace(w.namespace))
	if !apierrors.IsUnauthorized(err) {
		t.Fatalf("error = %v, want unauthorized", err)
	}
	if strings.Contains(err.Error(), canary) {
		t.Error("the error reveals the token")
	}
	if w.clients() != 0 {
		t.Error("a client is kept whose credential is refused")
	}
	if w.cluster(t, target) == before {
		t.Error("the refused client is still in use")
	}
	secret.Data["kubeconfig"] = []byte(kubeconfigFor(t, w.host, "", good))
	if err := w.host.Client().Update(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	mustList(t, w.cluster(t, target), w.namespace)
}

func TestAForbiddenRequestIsTheCallersBusiness(t *testing.T) {
	w := newWorld(t)
	target := testkit.Target(w.namespace, "a").Kubeconfig(kubeconfigFor(t, w.host, "", account(t, w.host, w.namespace, "nobody"))).Build()
	cluster := w.cluster(t, target)
	if err := cluster.Client().Create(t.Context(), configMap(w.namespace, "x")); !apierrors.IsForbidden(err) {
		t.Errorf("error = %v, want forbidden", err)
	}
	if w.cluster(t, target) != cluster {
		t.Error("the client was dropped")
	}
}

func TestTargetsThatCannotBeUsed(t *testing.T) {
	w := newWorld(t)
	testkit.Create(t, w.host, secretWith(w.namespace, "broken", "kubeconfig", "users: "+canary))
	other := testkit.Target(w.namespace, "a").Config(map[string]any{"dangerous": "kubeconfig"}).Build()
	both := testkit.Target(w.namespace, "a").Secret("broken", "").Config(map[string]any{"a": 1}).Build()
	for name, c := range map[string]struct {
		target *lsv1alpha1.Target
		kind   failure.Kind
		reason string
		text   string
	}{
		"another type":        {testkit.Target(w.namespace, "a").Type("example.org/bucket").Build(), failure.Terminal, ReasonInvalid, `"example.org/bucket"`},
		"nothing":             {testkit.Target(w.namespace, "a").Build(), failure.Terminal, ReasonInvalid, "neither config nor secretRef"},
		"both":                {both, failure.Terminal, ReasonInvalid, "both config and secretRef"},
		"no kubeconfig":       {other, failure.Terminal, ReasonInvalid, "none of the keys kubeconfig"},
		"a broken kubeconfig": {testkit.Target(w.namespace, "a").Secret("broken", "kubeconfig").Build(), failure.Terminal, ReasonInvalid, "kubeconfig.current-context"},
		"no Secret":           {testkit.Target(w.namespace, "a").Secret("none", "kubeconfig").Build(), failure.Retryable, ReasonSecretMissing, "/none of spec.secretRef does not exist"},
		"no key":              {testkit.Target(w.namespace, "a").Secret("broken", "other").Build(), failure.Retryable, ReasonSecretMissing, `no key "other"`},
		"no name":             {testkit.Target(w.namespace, "a").Secret("", "other").Build(), failure.Terminal, ReasonInvalid, "spec.secretRef.name"},
		"self and kubeconfig": {testkit.Target(w.namespace, "a").Config(map[string]any{
			"kubeconfig": "x",
			"selfConfig": map[string]any{},
		}).Build(), failure.Terminal, ReasonInvalid, "both"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := w.clusters.For(t.Context(), c.target)
			if err == nil || failure.KindOf(err) != c.kind || failure.DetailsOf(err).Reason != c.reason {
				t.Fatalf("error = %v (%v, %+v)", err, failure.KindOf(err), failure.DetailsOf(err))
			}
			if !strings.Contains(err.Error(), c.text) || !strings.Contains(err.Error(), "target "+w.namespace+"/a") ||
				strings.Contains(err.Error(), canary) {
				t.Errorf("error = %q, want it to contain %q and the Target", err, c.text)
			}
		})
	}
}

func TestContentIsForAllTypes(t *testing.T) {
	w := newWorld(t)
	secret := secretWith(w.namespace, "access", "bucket", "name: plants")
	secret.Data["number"], secret.Data["text"] = []byte("42"), []byte("a: b: c")
	testkit.Create(t, w.host, secret)
	bucket := testkit.Target(w.namespace, "a").Type("example.org/bucket")
	for name, c := range map[string]struct {
		target *lsv1alpha1.Target
		want   string
	}{
		"configuration": {bucket.Config(map[string]any{"name": "plants"}).Build(), `{"name":"plants"}`},
		"nothing":       {testkit.Target(w.namespace, "a").Build(), ""},
		"key":           {testkit.Target(w.namespace, "a").Secret("access", "bucket").Build(), "name: plants"},
		"all keys":      {testkit.Target(w.namespace, "a").Secret("access", "").Build(), `{"bucket":{"name":"plants"},"number":42,"text":"a: b: c"}`},
	} {
		t.Run(name, func(t *testing.T) {
			content, err := w.clusters.Content(t.Context(), c.target)
			if err != nil || string(content) != c.want {
				t.Errorf("content = %s, error %v; want %s", content, err, c.want)
			}
		})
	}
	if _, err := w.clusters.Content(t.Context(), testkit.Target(w.namespace, "a").Secret("none", "").Build()); failure.DetailsOf(
		err,
	).Reason != ReasonSecretMissing {
		t.Errorf("error = %v", err)
	}
}

func TestOtherKubeconfigsGetTheSameCare(t *testing.T) {
	w := newWorld(t)
	text := kubeconfigFor(t, w.host, "", account(t, w.host, w.namespace, "deployer", may("configmaps", "list")))
	cluster, err := w.clusters.ForKubeconfig(t.Context(), "pipeline", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	mustList(t, cluster, w.namespace)
	again, err := w.clusters.ForKubeconfig(t.Context(), "pipeline", []byte(text))
	if err != nil || again != cluster {
		t.Errorf("a second client for the same kubeconfig, error %v", err)
	}
	if _, err := w.clusters.ForKubeconfig(t.Context(), "pipeline", []byte("kind: Secret")); failure.KindOf(err) != failure.Terminal {
		t.Errorf("error = %v, want a terminal one", err)
	}
}

func TestIdleClientsAreDropped(t *testing.T) {
	w := newWorld(t)
	idle, watched, busy := account(
		t,
		w.host,
		w.namespace,
		"idle",
	), account(
		t,
		w.host,
		w.namespace,
		"watched",
	), account(
		t,
		w.host,
		w.namespace,
		"busy",
	)
	target := func(name, token string) *lsv1alpha1.Target {
		return testkit.Target(w.namespace, name).Kubeconfig(kubeconfigFor(t, w.host, "", token)).Build()
	}
	w.cluster(t, target("idle", idle))
	kept := w.cluster(t, target("watched", watched))
	stop, err := kept.Watch(corev1.SchemeGroupVersion.WithKind("ConfigMap"), client.ObjectKey{Namespace: w.namespace, Name: "x"}, func() {})
	if err != nil {
		t.Fatal(err)
	}
	w.advance(idleAfter)
	w.cluster(t, target("busy", busy))
	if w.clients() != 2 {
		t.Errorf("%d clients are kept, want the one that is watched and the one that is new", w.clients())
	}
	stop()
	w.advance(idleAfter)
	w.cluster(t, target("new", idle))
	if w.clients() != 1 {
		t.Errorf("%d clients are kept, want the new one only", w.clients())
	}
}

func TestTheNumberOfClientsIsBounded(t *testing.T) {
	w := newWorld(t)
	w.clusters.limit = 3
	watched := testkit.Target(w.namespace, "watched").
		Kubeconfig(kubeconfigFor(t, w.host, "", account(t, w.host, w.namespace, "watched"))).
		Build()
	first := w.cluster(t, watched)
	stop, err := first.Watch(corev1.SchemeGroupVersion.WithKind("ConfigMap"), client.ObjectKey{Namespace: w.namespace, Name: "x"}, func() {})
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	for i := range 10 {
		w.advance(time.Second)
		name := fmt.Sprintf("target-%d", i)
		w.cluster(t, testkit.Target(w.namespace, name).Kubeconfig(kubeconfigFor(t, w.host, "", name)).Build())
	}
	if w.clients() != 3 || len(w.clusters.owners) != 3 {
		t.Errorf("%d clients and %d owners are kept", w.clients(), len(w.clusters.owners))
	}
	if w.cluster(t, watched) != first {
		t.Error("the client that is watched was dropped, although others are not")
	}
}

func TestAClosedCacheStaysEmpty(t *testing.T) {
	w := newWorld(t)
	target := testkit.Target(w.namespace, "a").Kubeconfig(kubeconfigFor(t, w.host, "", "token")).Build()
	cluster := w.cluster(t, target)
	w.clusters.Close()
	if _, err := w.clusters.For(t.Context(), target); err == nil {
		t.Error("a closed cache made a client")
	}
	if _, err := cluster.Watch(corev1.SchemeGroupVersion.WithKind("ConfigMap"), client.ObjectKey{Namespace: "a", Name: "a"}, func() {}); err == nil {
		t.Error("a watch began in a closed cache")
	}
}

func TestNoTokensAndSecretsWithoutAHost(t *testing.T) {
	w := newWorld(t, func(o *Options) { o.Host, o.HostConfig = nil, nil })
	if _, err := w.clusters.For(t.Context(), testkit.Target(w.namespace, "a").Secret("access", "").Build()); failure.KindOf(
		err,
	) != failure.Terminal {
		t.Errorf("error = %v", err)
	}
	for _, key := range []string{"selfConfig", "oidcConfig"} {
		config := map[string]any{"serviceAccount": map[string]any{"name": "x"}, "server": "https://host", "audience": []string{"y"}}
		_, err := w.clusters.For(t.Context(), testkit.Target(w.namespace, "a").Config(map[string]any{key: config}).Build())
		if failure.KindOf(err) != failure.Terminal {
			t.Errorf("%s: error = %v", key, err)
		}
	}
}

func TestADroppedClientIsMadeAnew(t *testing.T) {
	w := newWorld(t)
	way := relay.New(t, w.host.Config().Host)
	token := account(t, w.host, w.namespace, "deployer", may("configmaps", "list"))
	object := testkit.Target(w.namespace, "a").Kubeconfig(kubeconfigFor(t, w.host, way.Address(), token)).Build()
	first := w.cluster(t, object)
	if err := list(t.Context(), first, w.namespace); err != nil {
		t.Fatal(err)
	}
	w.clusters.Drop(first)
	way.AwaitConnections(t, 0)
	second := w.cluster(t, object)
	if second == first {
		t.Error("the dropped client is still used")
	}
	w.clusters.Drop(first)
	if w.cluster(t, object) != second {
		t.Error("dropping a client that is gone has dropped another")
	}
}
