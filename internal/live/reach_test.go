// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package live_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gitops "espalier.dev/api/gitops/v1alpha1"
	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/live"
	"espalier.dev/internal/testkit"
)

// key is the key of the stage's Target.
func (s *stage) key() client.ObjectKey {
	return client.ObjectKey{Namespace: s.namespace, Name: "cluster"}
}

func TestAClusterIsReached(t *testing.T) {
	s := newStage(t, "")
	got, err := s.reader.Reach(t.Context(), s.key())
	if err != nil || !strings.HasPrefix(got.Version, "v1.") || got.Took <= 0 {
		t.Errorf("%+v, %v", got, err)
	}
	if got.Expires.IsZero() {
		t.Error("certificates end, but nothing is known about it")
	}
}

// The kubeconfig has a token that never expires, or one that expires before or after the server's certificate.
func TestTheCertificateOfTheServerEndsAsWell(t *testing.T) {
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"gitVersion":"v1.2.3"}`) }))
	defer server.Close()
	end := server.Certificate().NotAfter.Unix()
	for name, test := range map[string]struct {
		user, what string
		at         int64
	}{
		"alone":                {"token: opaque", live.ExpiringServerCertificate, end},
		"before the token":     {tokenUntil(end + 1), live.ExpiringServerCertificate, end},
		"long after the token": {tokenUntil(tokenEnds), live.ExpiringToken, tokenEnds},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, trusting(server, test.user))
			// The second call reuses the connection of the first.
			for range 2 {
				got, err := s.reader.Reach(t.Context(), s.key())
				if err != nil || got.Expires.Unix() != test.at || got.Expiring != test.what {
					t.Errorf("%+v, %v; want %s until %d", got, err, test.what, test.at)
				}
			}
		})
	}
}

// trusting returns a kubeconfig for a server with its own certificate.
func trusting(server *httptest.Server, user string) string {
	authority := base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
	return strings.Replace(kubeconfig(server.URL, user), "server:", "certificate-authority-data: "+authority+", server:", 1)
}

const (
	certificateEnds = 2000000000
	tokenEnds       = 1900000000
)

// kubeconfig returns a kubeconfig for a server that is never contacted, with credentials that expire.
func kubeconfig(server string, user string) string {
	return "{apiVersion: v1, kind: Config, current-context: c, contexts: [{name: c, context: {cluster: c, user: u}}], " +
		"clusters: [{name: c, cluster: {server: '" + server + "'}}], users: [{name: u, user: {" + user + "}}]}"
}

func tokenUntil(end int64) string {
	claims := base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, `{"exp":%d}`, end))
	return "token: head." + claims + ".sign"
}

func certificateUntil(t *testing.T, end int64) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Unix(end, 0)}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	encoded := func(kind string, bytes []byte) string {
		return base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: bytes}))
	}
	return "client-certificate-data: " + encoded("CERTIFICATE", certificate) + ", client-key-data: " + encoded("EC PRIVATE KEY", private)
}

func TestTheCredentialThatEndsFirstCounts(t *testing.T) {
	certificate := certificateUntil(t, certificateEnds)
	for name, test := range map[string]struct {
		user string
		want int64
		what string
	}{
		"a certificate":            {certificate, certificateEnds, live.ExpiringClientCertificate},
		"a token":                  {tokenUntil(tokenEnds), tokenEnds, live.ExpiringToken},
		"both":                     {certificate + ", " + tokenUntil(tokenEnds), tokenEnds, live.ExpiringToken},
		"a token that lives on":    {certificate + ", " + tokenUntil(2100000000), certificateEnds, live.ExpiringClientCertificate},
		"a token that says naught": {user: "token: opaque"},
		"a password":               {user: "username: a, password: b"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, kubeconfig("https://127.0.0.1:1", test.user))
			got, err := s.reader.Reach(t.Context(), s.key())
			if err == nil || got.Version != "" {
				t.Errorf("nobody listens there, but %+v", got)
			}
			if test.want == 0 && !got.Expires.IsZero() || test.want != 0 && got.Expires.Unix() != test.want || got.Expiring != test.what {
				t.Errorf("%q expires at %s", got.Expiring, got.Expires)
			}
		})
	}
}

func TestWhyAClusterIsNotReached(t *testing.T) {
	pages := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") == "Bearer pssst" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		fmt.Fprint(w, "welcome")
	}))
	defer pages.Close()
	at := func(user string) string { return trusting(pages, user) }
	for name, test := range map[string]struct{ kubeconfig, want string }{
		"nobody is there":  {kubeconfig("https://127.0.0.1:1", "token: pssst"), "unreachable"},
		"it refuses":       {at("token: pssst"), "rejects the credential"},
		"no API server":    {at("token: other"), "does not belong to an API server"},
		"a bad kubeconfig": {"users: [{name: u, user: {token: pssst, exec: {command: sh}}}]", "target "},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, test.kubeconfig)
			_, err := s.reader.Reach(t.Context(), s.key())
			if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "pssst") {
				t.Errorf("the error is %v", err)
			}
		})
	}
	s := newStage(t, "")
	if _, err := s.reader.Reach(t.Context(), client.ObjectKey{Namespace: s.namespace, Name: "lost"}); err == nil {
		t.Error("a Target that does not exist is reached")
	}
	var other lsv1alpha1.Target
	if err := s.server.Client().Get(t.Context(), s.key(), &other); err != nil {
		t.Fatal(err)
	}
	other.Spec.Type = "example.com/other"
	if err := s.server.Client().Update(t.Context(), &other); err != nil {
		t.Fatal(err)
	}
	if _, err := s.reader.Reach(t.Context(), s.key()); err == nil || !strings.Contains(err.Error(), "not a Kubernetes cluster") {
		t.Errorf("a Target of another type: %v", err)
	}
}

func TestAGitopsClusterIsReached(t *testing.T) {
	s := newStage(t, "")
	raw, err := os.ReadFile(s.server.Kubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string]map[string][]byte{
		"good": {"kubeconfig": raw}, "capi-kubeconfig": {"value": raw}, "keyless": {"value": raw}, "bad": {"kubeconfig": []byte("pssst")},
	} {
		testkit.Create(t, s.server, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: name}, Data: data})
	}
	named := func(secret string) gitops.GitopsClusterSpec {
		return gitops.GitopsClusterSpec{SecretRef: &gitops.LocalObjectReference{Name: secret}}
	}
	for name, test := range map[string]struct {
		spec gitops.GitopsClusterSpec
		want string
	}{
		"by-secret":      {spec: named("good")},
		"by-cluster":     {spec: gitops.GitopsClusterSpec{CAPIClusterRef: &gitops.LocalObjectReference{Name: "capi"}}},
		"of-nothing":     {want: "spec.secretRef"},
		"without-secret": {spec: named("missing"), want: "Secret " + s.namespace + "/missing"},
		"without-key":    {spec: named("keyless"), want: "has no key kubeconfig"},
		"of-nonsense":    {spec: named("bad"), want: "kubeconfig"},
	} {
		t.Run(name, func(t *testing.T) {
			key := client.ObjectKey{Namespace: s.namespace, Name: name}
			testkit.Create(t, s.server, &gitops.GitopsCluster{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}, Spec: test.spec})
			got, err := s.reader.ReachGitopsCluster(t.Context(), key)
			if test.want == "" {
				if err != nil || !strings.HasPrefix(got.Version, "v1.") || got.Expires.IsZero() {
					t.Errorf("%+v, %v", got, err)
				}
			} else if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "pssst") {
				t.Errorf("the error is %v", err)
			}
		})
	}
	if _, err := s.reader.ReachGitopsCluster(t.Context(), client.ObjectKey{Namespace: s.namespace, Name: "lost"}); err == nil {
		t.Error("a GitopsCluster that does not exist is reached")
	}
}
