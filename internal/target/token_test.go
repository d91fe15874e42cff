// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package target

import (
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/dial"
	"espalier.dev/internal/failure"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/traffic"
)

func selfTarget(namespace, account string) *lsv1alpha1.Target {
	self := lsv1alpha1.SelfConfig{ServiceAccount: lsv1alpha1.LocalObjectReference{Name: account}}
	return testkit.Target(namespace, "self").Config(lsv1alpha1.KubernetesClusterConfig{SelfConfig: &self}).Build()
}

func TestASelfTargetHasTheRightsOfItsServiceAccountOnly(t *testing.T) {
	// The operator chose the address of the host, so the rules for users' addresses do not apply.
	w := newWorld(t, func(o *Options) { o.Dialer = dial.Rules{} })
	account(t, w.host, w.namespace, "deployer", may("configmaps", "create"))
	cluster := w.cluster(t, selfTarget(w.namespace, "deployer"))
	if err := cluster.Client().Create(t.Context(), configMap(w.namespace, "x")); err != nil {
		t.Error(err)
	}
	// The controller itself is an administrator here, by its client certificate.
	if err := cluster.Client().List(t.Context(), &corev1.SecretList{}, client.InNamespace(w.namespace)); !apierrors.IsForbidden(err) {
		t.Errorf("error = %v, want forbidden", err)
	}
	if err := cluster.Client().Create(t.Context(), configMap("default", "x")); !apierrors.IsForbidden(err) {
		t.Errorf("in another namespace: error = %v, want forbidden", err)
	}
}

func TestServiceAccountsThatGiveNoToken(t *testing.T) {
	w := newWorld(t)
	powerless := w.host.Config()
	powerless.TLSClientConfig.CertData, powerless.TLSClientConfig.KeyData = nil, nil
	powerless.TLSClientConfig.CertFile, powerless.TLSClientConfig.KeyFile = "", ""
	powerless.BearerToken = account(t, w.host, w.namespace, "controller")
	weak := NewClusters(Options{Host: w.host.Client(), HostConfig: powerless, Clock: w.clock})
	defer weak.Close()
	short := selfTarget(w.namespace, "controller")
	short.Spec.Configuration.Raw = []byte(`{"selfConfig":{"serviceAccount":{"name":"controller"},"expirationSeconds":60}}`)
	endless := selfTarget(w.namespace, "controller")
	endless.Spec.Configuration.Raw = []byte(`{"selfConfig":{"serviceAccount":{"name":"controller"},"expirationSeconds":99999999999}}`)
	for name, c := range map[string]struct {
		clusters *Clusters
		target   *lsv1alpha1.Target
		kind     failure.Kind
		text     string
	}{
		"it does not exist":       {w.clusters, selfTarget(w.namespace, "nobody"), failure.Retryable, "/nobody does not exist: create it"},
		"it has no name":          {w.clusters, selfTarget(w.namespace, ""), failure.Terminal, "selfConfig.serviceAccount.name is missing"},
		"the controller may not":  {weak, selfTarget(w.namespace, "controller"), failure.Retryable, "create serviceaccounts/token"},
		"too short a life":        {w.clusters, short, failure.Terminal, "selfConfig.expirationSeconds is less than 600"},
		"longer than any token's": {w.clusters, endless, failure.Terminal, "cannot get a token"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := c.clusters.For(t.Context(), c.target)
			if err == nil || failure.KindOf(err) != c.kind || !strings.Contains(err.Error(), c.text) {
				t.Errorf("error = %v (%v), want %q", err, failure.KindOf(err), c.text)
			}
		})
	}
}

// tokenRequests counts the requests for tokens, and makes them fail on demand.
type tokenRequests struct {
	count atomic.Int32
	fail  atomic.Bool
}

func (r *tokenRequests) watch(config *rest.Config) {
	config.Wrap(func(base http.RoundTripper) http.RoundTripper {
		return traffic.RoundTripper(func(request *http.Request) (*http.Response, error) {
			if strings.HasSuffix(request.URL.Path, "/token") {
				r.count.Add(1)
				if r.fail.Load() {
					return traffic.Refusal(request, http.StatusInternalServerError, "InternalError"), nil
				}
			}
			return base.RoundTrip(request)
		})
	})
}

func TestTokensAreRenewedBeforeTheyExpire(t *testing.T) {
	var requests tokenRequests
	w := newWorld(t, func(o *Options) { requests.watch(o.HostConfig) })
	account(t, w.host, w.namespace, "deployer", may("configmaps", "list"))
	target := selfTarget(w.namespace, "deployer")
	target.Spec.Configuration.Raw = []byte(`{"selfConfig":{"serviceAccount":{"name":"deployer"},"expirationSeconds":1000}}`)
	cluster := w.cluster(t, target)
	use := func(want int32) {
		t.Helper()
		if w.cluster(t, target) != cluster {
			t.Fatal("the client was replaced")
		}
		mustList(t, cluster, w.namespace)
		if got := requests.count.Load(); got != want {
			t.Fatalf("%d tokens were asked for, want %d", got, want)
		}
	}
	use(1)
	w.advance(790 * time.Second)
	use(1)
	requests.fail.Store(true)
	w.advance(20 * time.Second)
	use(2)
	use(2) // The old one is still valid, so there is time.
	w.advance(renewalPause)
	requests.fail.Store(false)
	use(3)
	use(3)
	requests.fail.Store(true)
	w.advance(2000 * time.Second)
	_, err := w.clusters.For(t.Context(), target)
	if failure.DetailsOf(err).Reason != ReasonTokenRefused {
		t.Errorf("with an expired token: error = %v", err)
	}
}

func TestARejectedTokenIsReplaced(t *testing.T) {
	w := newWorld(t)
	account(t, w.host, w.namespace, "deployer", may("configmaps", "list"))
	target := selfTarget(w.namespace, "deployer")
	cluster := w.cluster(t, target)
	spoil(t, cluster)
	if err := list(t.Context(), cluster, w.namespace); !apierrors.IsUnauthorized(err) {
		t.Fatalf("error = %v, want unauthorized", err)
	}
	mustList(t, w.cluster(t, target), w.namespace)
}

// spoil replaces the token of a cluster by an invalid one, as when the keys of the issuer change.
func spoil(t *testing.T, cluster *Cluster) {
	t.Helper()
	source, ok := cluster.credential.(*tokenSource)
	if !ok {
		t.Fatal("the cluster has no token")
	}
	source.mutex.Lock()
	defer source.mutex.Unlock()
	source.current.value = "spoiled"
}

// trusting is a cluster that trusts tokens of the host for one audience, like an API server with OIDC: it asks the host for the owner
// of the token, and lets the right one act on the real cluster behind it.
func trusting(t *testing.T, host, behind *testkit.APIServer, audience, user string) strangeServer {
	t.Helper()
	address, err := url.Parse(behind.Config().Host)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(address)
	if proxy.Transport, err = rest.TransportFor(behind.Config()); err != nil {
		t.Fatal(err)
	}
	return strange(t, func(rw http.ResponseWriter, r *http.Request) {
		review := &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{
			Token: strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "), Audiences: []string{audience},
		}}
		r.Header.Del("Authorization")
		if err := host.Client().Create(r.Context(), review); err != nil || review.Status.User.Username != user {
			rw.WriteHeader(http.StatusUnauthorized)
			return
		}
		proxy.ServeHTTP(rw, r)
	})
}

func oidcTarget(server strangeServer, namespace string, audience ...string) *lsv1alpha1.Target {
	oidc := lsv1alpha1.OIDCConfig{
		Server: server.URL, CAData: server.authority(), Audience: audience, ServiceAccount: lsv1alpha1.LocalObjectReference{Name: "deployer"},
	}
	return testkit.Target(namespace, "oidc").Config(lsv1alpha1.KubernetesClusterConfig{OIDCConfig: &oidc}).Build()
}

func TestAnOIDCTargetShowsATokenForItsAudience(t *testing.T) {
	w := newWorld(t)
	account(t, w.host, w.namespace, "deployer")
	behind := testkit.NewServer(t)
	server := trusting(t, w.host, behind, "plants", "system:serviceaccount:"+w.namespace+":deployer")
	cluster := w.cluster(t, oidcTarget(server, w.namespace, "plants"))
	if err := cluster.Client().Create(t.Context(), configMap("default", "x")); err != nil {
		t.Fatal(err)
	}
	if err := behind.Client().Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "x"}, configMap("", "")); err != nil {
		t.Error(err)
	}
	other := w.cluster(t, oidcTarget(server, w.namespace, "animals"))
	if err := other.Client().Create(t.Context(), configMap("default", "y")); !apierrors.IsUnauthorized(err) {
		t.Errorf("for another audience: error = %v, want unauthorized", err)
	}
}

func TestNoTokenForTheHostLeavesIt(t *testing.T) {
	w := newWorld(t)
	user := account(t, w.host, w.namespace, "deployer")
	review := &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: user}}
	if err := w.host.Client().Create(t.Context(), review); err != nil || len(review.Status.Audiences) == 0 {
		t.Fatalf("review = %+v, error %v", review.Status, err)
	}
	server := strange(t, func(http.ResponseWriter, *http.Request) { t.Error("it was spoken to") })
	for name, c := range map[string]struct {
		audience []string
		text     string
	}{
		"the host's audience":             {review.Status.Audiences[:1], "audience of the cluster of the Target"},
		"the host's audience among other": {append([]string{"plants"}, review.Status.Audiences...), "audience of the cluster of the Target"},
		"no audience":                     {nil, "oidcConfig.audience is missing"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := w.clusters.For(t.Context(), oidcTarget(server, w.namespace, c.audience...))
			if failure.KindOf(err) != failure.Terminal || !strings.Contains(err.Error(), c.text) {
				t.Errorf("error = %v, want %q", err, c.text)
			}
		})
	}
}

func TestOIDCTargetsThatCannotBeUsed(t *testing.T) {
	for text, want := range map[string]string{
		`{"oidcConfig":{"server":"http://host","serviceAccount":{"name":"a"},"audience":["b"]}}`:                  "oidcConfig.server does not start with https",
		`{"oidcConfig":{"server":"https://host","serviceAccount":{},"audience":["b"]}}`:                           "oidcConfig.serviceAccount.name is missing",
		`{"oidcConfig":{"server":"https://host","serviceAccount":{"name":"a"},"audience":["b"],"caData":"YQ=="}}`: "oidcConfig.caData contains no certificate",
		`{"oidcConfig":{"server":"https://host","serviceAccount":{"name":"a"},"audience":"b"}}`:                   "oidcConfig cannot be read",
		`{"oidcConfig":["` + canary + `"]}`: "oidcConfig is not an object",
	} {
		_, err := readAccess("garden", []byte(text))
		if failure.KindOf(err) != failure.Terminal || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), canary) {
			t.Errorf("%s: error = %v, want %q", text, err, want)
		}
	}
}
