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

	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
)

// reach looks at the cluster of the stage.
func (s *stage) key() client.ObjectKey {
	return client.ObjectKey{Namespace: s.namespace, Name: "cluster"}
}

func TestAClusterIsReached(t *testing.T) {
	s := newStage(t, "")
	got, err := s.reader.Reach(t.Context(), s.key())
	if err != nil || !strings.HasPrefix(got.Version, "v1.") || got.Took <= 0 {
		t.Errorf("%+v, %v", got, err)
	}
	raw, err := os.ReadFile(s.server.Kubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	if withCertificate := strings.Contains(string(raw), "client-certificate-data"); withCertificate == got.Expires.IsZero() {
		t.Errorf("the kubeconfig has a client certificate: %v, and it expires at %s", withCertificate, got.Expires)
	}
}

const (
	certificateEnds = 2000000000
	tokenEnds       = 1900000000
)

// kubeconfigs for a server that nobody asks, with credentials that end.
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
	}{
		"a certificate":            {certificate, certificateEnds},
		"a token":                  {tokenUntil(tokenEnds), tokenEnds},
		"both":                     {certificate + ", " + tokenUntil(tokenEnds), tokenEnds},
		"a token that lives on":    {certificate + ", " + tokenUntil(2100000000), certificateEnds},
		"a token that says naught": {"token: opaque", 0},
		"a password":               {"username: a, password: b", 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, kubeconfig("https://127.0.0.1:1", test.user))
			got, err := s.reader.Reach(t.Context(), s.key())
			if err == nil || got.Version != "" {
				t.Errorf("nobody listens there, but %+v", got)
			}
			if test.want == 0 && !got.Expires.IsZero() || test.want != 0 && got.Expires.Unix() != test.want {
				t.Errorf("it expires at %s", got.Expires)
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
	authority := base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: pages.Certificate().Raw}))
	at := func(user string) string {
		return strings.Replace(kubeconfig(pages.URL, user), "server:", "certificate-authority-data: "+authority+", server:", 1)
	}
	for name, test := range map[string]struct{ kubeconfig, want string }{
		"nobody is there":  {kubeconfig("https://127.0.0.1:1", "token: pssst"), "unreachable"},
		"it refuses":       {at("token: pssst"), "does not accept the credential"},
		"no API server":    {at("token: other"), "no API server"},
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
	if _, err := s.reader.Reach(t.Context(), s.key()); err == nil || !strings.Contains(err.Error(), "no Kubernetes cluster") {
		t.Errorf("a Target of another type: %v", err)
	}
}
