// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package target

import (
	"context"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/dial"
	"espalier.dev/internal/failure"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/relay"
	"espalier.dev/internal/testkit/traffic"
)

func list(ctx context.Context, cluster *Cluster, namespace string) error {
	return cluster.Client().List(ctx, &corev1.ConfigMapList{}, client.InNamespace(namespace))
}

func TestADeadClusterFailsFastAndAlone(t *testing.T) {
	w := newWorld(t)
	way := relay.New(t, w.host.Config().Host)
	token := account(t, w.host, w.namespace, "deployer", may("configmaps", "list"))
	dying := testkit.Target(w.namespace, "dying").Kubeconfig(kubeconfigFor(t, w.host, way.Address(), token)).Build()
	healthy := testkit.Target(w.namespace, "healthy").Kubeconfig(kubeconfigFor(t, w.host, "", token)).Build()
	cluster := w.cluster(t, dying)
	mustList(t, cluster, w.namespace)
	way.Close()

	err := list(t.Context(), cluster, w.namespace)
	assertUnreachable(t, err)
	if strings.Contains(err.Error(), token) {
		t.Error("the error reveals the token")
	}
	sent := w.traffic.Number("")
	assertUnreachable(t, list(t.Context(), cluster, w.namespace))
	_, err = w.clusters.For(t.Context(), dying)
	assertUnreachable(t, err)
	_, err = cluster.Mapper().RESTMapping(sapling.GroupKind(), sapling.Version)
	assertUnreachable(t, err)
	if n := w.traffic.Number(""); n != sent {
		t.Errorf("%d requests were sent to a cluster known to be dead", n-sent)
	}
	mustList(t, w.cluster(t, healthy), w.namespace)

	way.Open(t)
	w.advance(lastPause)
	again := w.cluster(t, dying)
	mustList(t, again, w.namespace)
	if again != cluster {
		t.Error("the client was replaced")
	}
	mustList(t, again, w.namespace)
}

func assertUnreachable(t *testing.T, err error) {
	t.Helper()
	var unreachable *Unreachable
	if !errors.As(err, &unreachable) || unreachable.Since.IsZero() || !unreachable.Until.After(unreachable.Since) {
		t.Errorf("error = %v, want one that says since when and until when", err)
	}
	if failure.KindOf(err) != failure.Retryable || failure.DetailsOf(err).Reason != ReasonUnreachable {
		t.Errorf("error = %v is %v with %+v", err, failure.KindOf(err), failure.DetailsOf(err))
	}
}

func TestACallerWhoGoesIsNoFailure(t *testing.T) {
	w := newWorld(t)
	server := strange(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	cluster := w.cluster(t, server.target(t, w.namespace))
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- read(ctx, cluster) }()
	w.traffic.Await(t, "the request", func(tr *traffic.Traffic) bool { return tr.Number("/version") == 1 })
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("error = %v", err)
	}
	if err := cluster.breaker.open(); err != nil {
		t.Errorf("the cluster counts as dead: %v", err)
	}
}

func TestForbiddenAddressesAreTerminal(t *testing.T) {
	for host, rules := range map[string]dial.Rules{"127.0.0.1": {}, "169.254.169.254": {AllowLoopback: true}, "localhost": {}} {
		w := newWorld(t, func(o *Options) { o.Dialer = rules })
		cluster := w.cluster(t, testkit.Target(w.namespace, "a").Kubeconfig(kubeconfigFor(t, w.host, host+":6443", "token")).Build())
		err := list(t.Context(), cluster, w.namespace)
		details := failure.DetailsOf(err)
		if failure.KindOf(err) != failure.Terminal || details.Reason != ReasonRefusedAddress ||
			!slices.Equal(details.Codes, []string{"ERR_CONFIGURATION_PROBLEM"}) {
			t.Errorf("%s: error = %v is %v with %+v", host, err, failure.KindOf(err), details)
		}
		if err := list(t.Context(), cluster, w.namespace); failure.KindOf(err) != failure.Terminal {
			t.Errorf("%s: the second time it is %v", host, err)
		}
	}
}

func TestOnLoopback(t *testing.T) {
	for host, want := range map[string]bool{
		"https://127.0.0.1:6443": true, "https://[::1]:6443": true, "https://localhost": true, "localhost:8080": true,
		"https://10.0.0.1": false, "https://localhost.example.org": false, "https://127.0.0.1.example.org": false,
	} {
		if got := OnLoopback(&rest.Config{Host: host}); got != want {
			t.Errorf("%s: %v", host, got)
		}
	}
	if !OnLoopback(testkit.Server(t).Config()) {
		t.Error("the test server is not on loopback")
	}
}

// strangeServer is a server that a user may run in place of an API server.
type strangeServer struct{ *httptest.Server }

func strange(t *testing.T, handler http.HandlerFunc) strangeServer {
	t.Helper()
	server := httptest.NewTLSServer(handler)
	t.Cleanup(server.Close)
	return strangeServer{server}
}

// authority returns the certificate to trust it by.
func (s strangeServer) authority() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
}

func (s strangeServer) target(t *testing.T, namespace string) *lsv1alpha1.Target {
	t.Helper()
	parts := ordinaryKubeconfig()
	parts.cluster["server"] = s.URL
	parts.cluster["certificate-authority-data"] = base64.StdEncoding.EncodeToString(s.authority())
	return testkit.Target(namespace, "strange").Kubeconfig(string(parts.text(t))).Build()
}

// read makes a request that needs no discovery, and reads the whole answer.
func read(ctx context.Context, cluster *Cluster) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, cluster.Config().Host+"/version", nil)
	if err != nil {
		return err
	}
	response, err := cluster.Config().Transport.RoundTrip(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	_, err = io.Copy(io.Discard, response.Body)
	return err
}

func TestRedirectsAreNotFollowed(t *testing.T) {
	w := newWorld(t)
	elsewhere := strange(t, func(_ http.ResponseWriter, r *http.Request) { t.Error("it was followed") })
	server := strange(t, func(rw http.ResponseWriter, r *http.Request) {
		http.Redirect(rw, r, elsewhere.URL, http.StatusTemporaryRedirect)
	})
	if err := list(t.Context(), w.cluster(t, server.target(t, w.namespace)), w.namespace); err == nil ||
		!strings.Contains(err.Error(), "redirect") {
		t.Errorf("error = %v", err)
	}
}

func TestAnswersAreBounded(t *testing.T) {
	w := newWorld(t)
	chunk := make([]byte, 1<<20)
	server := strange(t, func(rw http.ResponseWriter, r *http.Request) {
		for {
			if _, err := rw.Write(chunk); err != nil {
				return
			}
		}
	})
	if err := read(t.Context(), w.cluster(t, server.target(t, w.namespace))); !errors.Is(err, errLongAnswer) {
		t.Errorf("error = %v", err)
	}
}

func TestAnAnswerThatJustFits(t *testing.T) {
	for size, fits := range map[int64]bool{9: true, 10: true, 11: false} {
		body := &boundedBody{ReadCloser: io.NopCloser(strings.NewReader(strings.Repeat("x", int(size)))), left: 10}
		got, err := io.ReadAll(body)
		if fits != (err == nil) || fits && int64(len(got)) != size {
			t.Errorf("%d of 10 bytes: read %d, error %v", size, len(got), err)
		}
	}
}

func TestAServerOfAnotherAuthorityIsNotTrusted(t *testing.T) {
	w := newWorld(t)
	server := strange(t, func(_ http.ResponseWriter, r *http.Request) { t.Error("it got a request, with the credential in it") })
	other, _ := certificate(t)
	parts := ordinaryKubeconfig()
	parts.cluster["server"] = server.URL
	parts.cluster["certificate-authority-data"] = base64.StdEncoding.EncodeToString(other)
	err := list(t.Context(), w.cluster(t, testkit.Target(w.namespace, "a").Kubeconfig(string(parts.text(t))).Build()), w.namespace)
	assertUnreachable(t, err)
	if err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("error = %v", err)
	}
}

// A cluster may quote the request that it rejects. Nobody learns the credential from that, not even one that was issued for the request.
func TestAnswersShowNoCredential(t *testing.T) {
	quotes := strange(t, func(rw http.ResponseWriter, r *http.Request) {
		user, password, _ := r.BasicAuth()
		http.Error(rw, fmt.Sprint(r.Header, user, password), http.StatusForbidden)
	})
	basic := base64.StdEncoding.EncodeToString([]byte("me:" + canary))
	for name, user := range map[string]map[string]any{
		"a token": {"token": canary}, "a name and password": {"username": "me", "password": canary},
	} {
		w := newWorld(t)
		parts := ordinaryKubeconfig()
		parts.cluster["server"] = quotes.URL
		parts.cluster["certificate-authority-data"] = base64.StdEncoding.EncodeToString(quotes.authority())
		parts.user = user
		cluster := w.cluster(t, testkit.Target(w.namespace, "a").Kubeconfig(string(parts.text(t))).Build())
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, cluster.Config().Host+"/version", nil)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := cluster.Config().Transport.RoundTrip(request)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(answer.Body)
		if err != nil || !strings.Contains(string(text), "<masked>") || int64(len(text)) != answer.ContentLength ||
			strings.Contains(string(text), canary) || strings.Contains(string(text), basic) {
			t.Errorf("%s: %s %v", name, text, err)
		}
	}
}

func TestBasicAuthenticationAndClientCertificates(t *testing.T) {
	w := newWorld(t)
	server := strange(t, func(rw http.ResponseWriter, r *http.Request) {
		if user, password, ok := r.BasicAuth(); !ok || user != "me" || password != canary {
			rw.WriteHeader(http.StatusUnauthorized)
		}
	})
	parts := ordinaryKubeconfig()
	parts.cluster["server"] = server.URL
	parts.cluster["certificate-authority-data"] = base64.StdEncoding.EncodeToString(server.authority())
	parts.user = map[string]any{"username": "me", "password": canary}
	if err := read(t.Context(), w.cluster(t, testkit.Target(w.namespace, "a").Kubeconfig(string(parts.text(t))).Build())); err != nil ||
		w.clients() != 1 {
		t.Errorf("error = %v, %d clients", err, w.clients())
	}
	administrator := w.cluster(t, testkit.Target(w.namespace, "b").Cluster(t, w.host).Build())
	if err := administrator.Client().List(t.Context(), &corev1.SecretList{}, client.InNamespace(w.namespace)); err != nil {
		t.Errorf("with a client certificate: %v", err)
	}
}

var sapling = schema.GroupVersionKind{Group: "target.example.org", Version: "v1", Kind: "Sapling"}

// saplings is the CRD of a kind that no cluster has by itself.
func saplings() *apiextensionsv1.CustomResourceDefinition {
	names := apiextensionsv1.CustomResourceDefinitionNames{
		Plural:   "saplings",
		Singular: "sapling",
		Kind:     sapling.Kind,
		ListKind: "SaplingList",
	}
	anything := true
	version := apiextensionsv1.CustomResourceDefinitionVersion{
		Name:    sapling.Version,
		Served:  true,
		Storage: true,
		Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
			Type:                   "object",
			XPreserveUnknownFields: &anything,
		}},
	}
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "saplings." + sapling.Group},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group:    sapling.Group,
			Names:    names,
			Scope:    apiextensionsv1.NamespaceScoped,
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{version},
		},
	}
}

func TestUnknownKindsAreNotAskedForWithEachRequest(t *testing.T) {
	w := newWorld(t)
	target := testkit.NewServer(t)
	cluster := w.cluster(t, testkit.Target(w.namespace, "a").Cluster(t, target).Build())
	get := func() error {
		object := &unstructured.Unstructured{}
		object.SetGroupVersionKind(sapling)
		return cluster.Client().Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "x"}, object)
	}
	assertUnknown := func() {
		t.Helper()
		if err := get(); !meta.IsNoMatchError(err) {
			t.Fatalf("error = %v, want an unknown kind", err)
		}
	}
	assertUnknown()
	sent := w.traffic.Number("")
	assertUnknown()
	target.InstallCRD(t, saplings())
	assertUnknown()
	if n := w.traffic.Number(""); n != sent {
		t.Errorf("%d requests for a kind that was unknown a moment ago", n-sent)
	}
	w.advance(unknownFor)
	if err := get(); !apierrors.IsNotFound(err) {
		t.Errorf("after a few seconds: error = %v, want not found", err)
	}
}

func TestWhoeverAddsKindsNeedNotWait(t *testing.T) {
	w := newWorld(t)
	target := testkit.NewServer(t)
	cluster := w.cluster(t, testkit.Target(w.namespace, "a").Cluster(t, target).Build())
	if _, err := cluster.Mapper().RESTMapping(sapling.GroupKind(), sapling.Version); !meta.IsNoMatchError(err) {
		t.Fatalf("error = %v, want an unknown kind", err)
	}
	target.InstallCRD(t, saplings())
	meta.MaybeResetRESTMapper(cluster.Mapper())
	mapping, err := cluster.Mapper().RESTMapping(sapling.GroupKind(), sapling.Version)
	if err != nil {
		t.Fatal(err)
	}
	resource := mapping.Resource
	if kind, err := cluster.Mapper().KindFor(resource); err != nil || kind != sapling {
		t.Errorf("KindFor = %v, error %v", kind, err)
	}
	if found, err := cluster.Mapper().ResourceFor(resource.GroupResource().WithVersion("")); err != nil || found != resource {
		t.Errorf("ResourceFor = %v, error %v", found, err)
	}
	if name, err := cluster.Mapper().ResourceSingularizer("saplings"); err != nil || name != "sapling" {
		t.Errorf("ResourceSingularizer = %v, error %v", name, err)
	}
}
