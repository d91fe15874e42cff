// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package target

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"espalier.dev/internal/failure"
)

// canary stands for every secret value; it must not appear in any error.
const canary = "CANARY-7f1c"

// certificate returns a certificate and its key in PEM form.
func certificate(t testing.TB) (certPEM, keyPEM []byte) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber:          big.NewInt(1),
		Subject:               pkix.Name{CommonName: "test"},
		NotAfter:              time.Now().Add(time.Hour),
		IsCA:                  true,
		BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{
		Type:  "CERTIFICATE",
		Bytes: der,
	}), pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: keyDER})
}

// kubeconfigParts are the objects of a kubeconfig, for a test to change.
type kubeconfigParts struct{ top, context, cluster, user map[string]any }

func ordinaryKubeconfig() kubeconfigParts {
	return kubeconfigParts{
		top:     map[string]any{"apiVersion": "v1", "kind": "Config", "current-context": "main", "preferences": map[string]any{}},
		context: map[string]any{"cluster": "here", "user": "me", "namespace": "ignored"},
		cluster: map[string]any{"server": "https://api.example.org:6443"},
		user:    map[string]any{"token": canary},
	}
}

// text combines the parts, after entries that the current context does not use.
func (k kubeconfigParts) text(t testing.TB) []byte {
	t.Helper()
	whole := map[string]any{
		"contexts": []any{
			map[string]any{"name": "other", "context": map[string]any{"cluster": "there", "user": "them"}},
			map[string]any{"name": "main", "context": k.context},
		},
		"clusters": []any{
			map[string]any{"name": "there", "cluster": map[string]any{"server": "http://elsewhere", "insecure-skip-tls-verify": true}},
			map[string]any{"name": "here", "cluster": k.cluster},
		},
		"users": []any{
			map[string]any{"name": "them", "user": map[string]any{"exec": map[string]any{"command": "touch"}}},
			map[string]any{"name": "me", "user": k.user},
		},
	}
	for key, value := range k.top {
		whole[key] = value
	}
	text, err := yaml.Marshal(whole)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestTheCurrentContextIsAllThatCounts(t *testing.T) {
	parts := ordinaryKubeconfig()
	ca, _ := certificate(t)
	parts.cluster["certificate-authority-data"] = base64.StdEncoding.EncodeToString(ca)
	parts.cluster["tls-server-name"] = "api"
	config, err := ParseKubeconfig(parts.text(t))
	if err != nil {
		t.Fatal(err)
	}
	if config.Host != "https://api.example.org:6443" || config.BearerToken != canary {
		t.Errorf("host %q, token %q", config.Host, config.BearerToken)
	}
	if diff := cmp.Diff(rest.TLSClientConfig{ServerName: "api", CAData: ca}, config.TLSClientConfig); diff != "" {
		t.Errorf("the connection (-want +got):\n%s", diff)
	}
	if config.QPS != -1 {
		t.Errorf("requests are limited to %v per second", config.QPS)
	}
}

// A Target gets one context, and not even the names of the others; what is rejected in a Target is rejected.
func TestOneContext(t *testing.T) {
	parts := ordinaryKubeconfig()
	cert, key := certificate(t)
	parts.cluster["certificate-authority-data"] = base64.StdEncoding.EncodeToString(cert)
	parts.cluster["tls-server-name"] = "api"
	parts.user = map[string]any{
		"client-certificate-data": base64.StdEncoding.EncodeToString(cert), "client-key-data": base64.StdEncoding.EncodeToString(key),
	}
	want, err := ParseKubeconfig(parts.text(t))
	if err != nil {
		t.Fatal(err)
	}
	for name, current := range map[string]any{"": "main", "main": "other"} {
		parts.top["current-context"] = current
		text, err := OneContext(parts.text(t), name)
		if err != nil {
			t.Fatal(err)
		}
		got, err := ParseKubeconfig([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want.TLSClientConfig, got.TLSClientConfig); diff != "" || got.Host != want.Host {
			t.Errorf("context %q leads to %s (-want +got):\n%s", name, got.Host, diff)
		}
		for _, other := range []string{"other", "there", "them", "elsewhere", "touch"} {
			if strings.Contains(text, other) {
				t.Errorf("context %q carries %s of another: %s", name, other, text)
			}
		}
	}
	delete(parts.top, "current-context")
	if _, err := OneContext(parts.text(t), "main"); err != nil {
		t.Errorf("without a current context: %v", err)
	}
	for context, want := range map[string]string{"other": "is rejected", "nowhere": "has no entry", "": "current-context is missing"} {
		if _, err := OneContext(parts.text(t), context); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("context %q: %v", context, err)
		}
	}
}

func TestCredentialsOfAKubeconfig(t *testing.T) {
	cert, key := certificate(t)
	encode := base64.StdEncoding.EncodeToString
	for name, c := range map[string]struct {
		user map[string]any
		want func(*rest.Config) bool
	}{
		"a token":              {map[string]any{"token": canary}, func(c *rest.Config) bool { return c.BearerToken == canary }},
		"a name and password":  {map[string]any{"username": "me", "password": canary}, func(c *rest.Config) bool { return c.Username == "me" && c.Password == canary }},
		"a client certificate": {map[string]any{"client-certificate-data": encode(cert), "client-key-data": encode(key)}, func(c *rest.Config) bool { return slices.Equal(c.KeyData, key) }},
		"a certificate and a token": {
			map[string]any{"client-certificate-data": encode(cert), "client-key-data": encode(key), "token": canary},
			func(c *rest.Config) bool { return c.BearerToken == canary && slices.Equal(c.CertData, cert) },
		},
		"keys that say nothing": {
			map[string]any{
				"token":         canary,
				"exec":          nil,
				"as":            "",
				"tokenFile":     "",
				"auth-provider": nil,
				"extensions":    []any{map[string]any{"name": "x"}},
			},
			func(c *rest.Config) bool { return c.BearerToken == canary && c.ExecProvider == nil },
		},
	} {
		t.Run(name, func(t *testing.T) {
			parts := ordinaryKubeconfig()
			parts.user = c.user
			config, err := ParseKubeconfig(parts.text(t))
			if err != nil {
				t.Fatal(err)
			}
			if !c.want(config) {
				t.Errorf("config = %v", config)
			}
			assertHarmless(t, config)
		})
	}
}

func TestDangerousKeysAreRejectedByName(t *testing.T) {
	cert, _ := certificate(t)
	encode := base64.StdEncoding.EncodeToString
	for _, c := range []struct {
		part  string
		key   string
		value any
		path  string // that the error must name
	}{
		{"user", "exec", map[string]any{"command": canary}, "users[1].user.exec is rejected"},
		{"user", "exec", map[string]any{}, "users[1].user.exec is rejected"},
		{"user", "auth-provider", map[string]any{"name": "gcp"}, "users[1].user.auth-provider is rejected"},
		{"user", "auth-provider", map[string]any{}, "users[1].user.auth-provider is rejected"},
		{"user", "tokenFile", "/" + canary, "users[1].user.tokenFile is rejected"},
		{"user", "client-certificate", canary, "users[1].user.client-certificate is rejected"},
		{"user", "client-key", canary, "users[1].user.client-key is rejected"},
		{"user", "as", canary, "users[1].user.as is rejected"},
		{"user", "as-uid", canary, "users[1].user.as-uid is rejected"},
		{"user", "as-groups", []any{canary}, "users[1].user.as-groups is rejected"},
		{"user", "as-user-extra", map[string]any{"x": []any{canary}}, "users[1].user.as-user-extra is rejected"},
		{"user", "tokenfile", canary, "users[1].user.tokenfile is unknown"},
		{"cluster", "certificate-authority", canary, "clusters[1].cluster.certificate-authority is rejected"},
		{"cluster", "insecure-skip-tls-verify", true, "clusters[1].cluster.insecure-skip-tls-verify is rejected"},
		{"cluster", "insecure-skip-tls-verify", "true", "clusters[1].cluster.insecure-skip-tls-verify is rejected"},
		{"cluster", "proxy-url", "http://" + canary, "clusters[1].cluster.proxy-url is rejected"},
		{"cluster", "disable-compression", true, "clusters[1].cluster.disable-compression is rejected"},
		{"cluster", "anything", canary, "clusters[1].cluster.<key in line 8> is unknown"},
		{"cluster", "server", "http://" + canary, "clusters[1].cluster.server does not start with https"},
		{"cluster", "server", canary + ":6443", "clusters[1].cluster.server"},
		{"cluster", "server", "https://me:" + canary + "@host", "clusters[1].cluster.server contains a user"},
		{"cluster", "server", "https://host?x=" + canary, "clusters[1].cluster.server contains a query"},
		{"cluster", "server", "https://host#" + canary, "clusters[1].cluster.server contains a query or a fragment"},
		{"cluster", "server", "https://", "clusters[1].cluster.server has no host"},
		{"cluster", "server", "https://" + canary + ":x", "clusters[1].cluster.server is not a URL"},
		{"cluster", "server", nil, "clusters[1].cluster.server is missing"},
		{"cluster", "certificate-authority-data", canary + "!", "certificate-authority-data is not base64"},
		{"cluster", "certificate-authority-data", encode([]byte(canary)), "certificate-authority-data contains no certificate"},
		{"user", "token", nil, "users[1].user has no credential"},
		{"user", "token", 123456, "users[1].user.token is not a text"},
		{"user", "token", canary + "\n", "users[1].user.token contains white space"},
		{"user", "username", canary, "users[1].user has both"},
		{"user", "client-key-data", encode([]byte(canary)), "client-certificate-data and client-key-data"},
		{"user", "client-certificate-data", encode(cert), "client-certificate-data and client-key-data"},
		{"context", "cluster", nil, "contexts[1].context.cluster is missing"},
		{"context", "user", "nobody", "users has no entry"},
		{"context", "whatever", canary, "contexts[1].context.<key in line 19> is unknown"},
		{"top", "current-context", nil, "kubeconfig.current-context is missing"},
		{"top", "current-context", "nowhere", "kubeconfig.contexts has no entry"},
		{"top", "kind", "Secret", "kubeconfig.kind is not"},
		{"top", "apiVersion", "v2", "kubeconfig.apiVersion is not"},
		{"top", "data", canary, "kubeconfig.<key in line 21> is unknown"},
		{"top", canary + "=", "x", "kubeconfig.<key in line 1> is unknown"},
		{"top", "users", canary, "kubeconfig.users is not a list"},
		{"top", "users", []any{canary}, "kubeconfig.users[0] is not an object"},
	} {
		t.Run(c.path, func(t *testing.T) {
			parts := ordinaryKubeconfig()
			map[string]map[string]any{
				"top":     parts.top,
				"context": parts.context,
				"cluster": parts.cluster,
				"user":    parts.user,
			}[c.part][c.key] = c.value
			assertRefused(t, parts.text(t), c.path)
		})
	}
}

func TestAmbiguousTextIsRefused(t *testing.T) {
	ordinary := string(ordinaryKubeconfig().text(t))
	for name, c := range map[string]struct{ text, want string }{
		"nothing":            {"", "is empty"},
		"only a comment":     {"# " + canary, "is empty"},
		"null":               {"null", "current-context is missing"},
		"a text":             {canary, "is not an object"},
		"broken YAML":        {"a: b\nc: d: " + canary, "neither YAML nor JSON: look at line 2"},
		"an unknown alias":   {"token: *" + canary, "neither YAML nor JSON"},
		"two documents":      {ordinary + "---\n" + ordinary, "more than one document"},
		"a key twice":        {ordinary + "current-context: other\n", "current-context appears twice"},
		"an alias":           {strings.Replace(ordinary, "token: ", "username: &x a\n    token: *x #", 1), "users[1].user.token is a YAML alias"},
		"a merge":            {strings.Replace(ordinary, "    token: ", "    <<: {exec: {}}\n    token: ", 1), "has a key that is not a plain text"},
		"a key that is none": {ordinary + "1: 2\n", "has a key that is not a plain text"},
		"a name twice":       {strings.Replace(ordinary, "name: them", "name: me", 1), "users has two entries"},
		"too long a text":    {ordinary + "#" + strings.Repeat("x", maxContent), "more than"},
		"binary text":        {strings.Replace(ordinary, "token: ", "token: !!binary ", 1), "token is not a text"},
	} {
		t.Run(name, func(t *testing.T) { assertRefused(t, []byte(c.text), c.want) })
	}
}

func assertRefused(t *testing.T, text []byte, want string) {
	t.Helper()
	config, err := ParseKubeconfig(text)
	if err == nil {
		t.Fatalf("it was accepted: %v", config)
	}
	if !strings.Contains(err.Error(), want) {
		t.Errorf("error = %q, want it to contain %q", err, want)
	}
	if strings.Contains(err.Error(), canary) {
		t.Errorf("the error reveals a value: %q", err)
	}
	details := failure.DetailsOf(err)
	if failure.KindOf(err) != failure.Terminal || details.Reason != ReasonInvalid ||
		!slices.Equal(details.Codes, []string{"ERR_CONFIGURATION_PROBLEM"}) {
		t.Errorf("the error is %v with %+v", failure.KindOf(err), details)
	}
}

func TestJSONIsAKubeconfigToo(t *testing.T) {
	text, err := yaml.YAMLToJSON(ordinaryKubeconfig().text(t))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ParseKubeconfig(text); err != nil {
		t.Error(err)
	}
	tabs := strings.ReplaceAll(string(text), ",", ",\n\t")
	if _, err := ParseKubeconfig([]byte(tabs)); err != nil {
		t.Errorf("indented by tabs: %v", err)
	}
}

// assertHarmless checks the property of everything that ParseKubeconfig accepts.
func assertHarmless(t *testing.T, config *rest.Config) {
	t.Helper()
	switch {
	case config.ExecProvider != nil, config.AuthProvider != nil, config.AuthConfigPersister != nil:
		t.Error("it runs something")
	case config.BearerTokenFile+config.CAFile+config.CertFile+config.KeyFile != "":
		t.Error("it reads a file")
	case config.Proxy != nil, config.Dial != nil, config.Transport != nil, config.WrapTransport != nil:
		t.Error("it leads elsewhere")
	case config.Impersonate.UserName+config.Impersonate.UID != "", len(config.Impersonate.Groups)+len(config.Impersonate.Extra) > 0:
		t.Error("it acts as somebody else")
	case config.Insecure:
		t.Error("it trusts any server")
	case !strings.HasPrefix(config.Host, "https://"):
		t.Error("it does not encrypt")
	}
}

func FuzzParseKubeconfig(f *testing.F) {
	cert, key := certificate(f)
	full := ordinaryKubeconfig()
	full.cluster["certificate-authority-data"] = base64.StdEncoding.EncodeToString(cert)
	full.user = map[string]any{
		"client-certificate-data": base64.StdEncoding.EncodeToString(cert), "client-key-data": base64.StdEncoding.EncodeToString(key),
		"exec": nil, "username": "",
	}
	f.Add(full.text(f))
	f.Add(ordinaryKubeconfig().text(f))
	f.Add(
		[]byte(
			`{"current-context":"a","contexts":[{"name":"a","context":{"cluster":"a","user":"a"}}],"clusters":[{"name":"a","cluster":{"server":"https://a"}}],"users":[{"name":"a","user":{"token":"t"}}]}`,
		),
	)
	f.Add([]byte("users: &a [*a]"))
	f.Fuzz(func(t *testing.T, text []byte) {
		config, err := ParseKubeconfig(text)
		if err != nil {
			if failure.KindOf(err) != failure.Terminal {
				t.Errorf("%v is not terminal", err)
			}
			return
		}
		assertHarmless(t, config)
		if _, err := rest.TLSConfigFor(config); err != nil {
			t.Errorf("accepted, but of no use: %v", err)
		}
	})
}
