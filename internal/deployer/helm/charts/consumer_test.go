// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package charts_test

import (
	"encoding/json"
	"encoding/pem"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	helmv1alpha1 "espalier.dev/api/deployer/helm/v1alpha1"
	landscaper "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/deployer/helm/charts"
	"espalier.dev/internal/testkit"
)

// consumers returns an OCM document with one credential.
func consumers(t *testing.T, identity, properties map[string]any) string {
	t.Helper()
	text, err := json.Marshal(map[string]any{
		"type": "credentials.config.ocm.software",
		"consumers": []any{map[string]any{
			"identity":    identity,
			"credentials": []any{map[string]any{"type": "Credentials", "properties": properties}},
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// identity returns the identity of a chart repository in OCM's terms.
func identity(t *testing.T, address, path string) map[string]any {
	t.Helper()
	parsed, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	return map[string]any{
		"type": "HelmChartRepository", "scheme": parsed.Scheme, "hostname": parsed.Hostname(), "port": parsed.Port(), "pathprefix": path,
	}
}

// inScope stores a Context with a document in its ocmConfig, or in its pull Secret.
func inScope(t *testing.T, document string, inSecret bool, auths ...map[string]any) string {
	t.Helper()
	server := testkit.Server(t)
	meta := metav1.ObjectMeta{Namespace: server.Namespace(t), Name: "charts"}
	scope := &landscaper.Context{ObjectMeta: meta}
	value, err := landscaper.NewAnyJSON(map[string]any{"auths": auths})
	if err != nil {
		t.Fatal(err)
	}
	scope.Configurations = map[string]landscaper.AnyJSON{helmv1alpha1.ChartRepoCredentialsKey: value}
	if inSecret {
		scope.RegistryPullSecrets = []landscaper.LocalObjectReference{{Name: meta.Name}}
		testkit.Create(t, server, &corev1.Secret{ObjectMeta: meta, StringData: map[string]string{".ocmcredentialconfig": document}})
	} else {
		scope.OCMConfig = &landscaper.LocalObjectReference{Name: meta.Name}
		testkit.Create(t, server, &corev1.ConfigMap{ObjectMeta: meta, Data: map[string]string{".ocmconfig": document}})
	}
	testkit.Create(t, server, scope)
	return meta.Namespace
}

func TestCredentialsForConsumersOfTheContext(t *testing.T) {
	shelf := &repository{data: shop(), header: basic}
	open := serve(t, shelf.ServeHTTP)
	secure := httptest.NewTLSServer(shelf)
	t.Cleanup(secure.Close)
	authority := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: secure.Certificate().Raw}))
	login := map[string]any{"username": "user", "password": "sesame"}
	trusting := map[string]any{"username": "user", "password": "sesame", "certificateAuthority": authority}
	wrong := map[string]any{"username": "user", "password": "wr0ng"}
	broken := map[string]any{"username": "user", "password": "sesame", "certificateAuthority": "x"}
	fits := []map[string]any{{"url": open.URL, "authHeader": basic}}
	for name, c := range map[string]struct {
		url      string
		document string
		inSecret bool
		auths    []map[string]any
		want     string
	}{
		"in ocmConfig":            {url: open.URL, document: consumers(t, identity(t, open.URL, "charts"), login)},
		"in a pull secret":        {url: open.URL, document: consumers(t, identity(t, open.URL, ""), login), inSecret: true},
		"with an authority":       {url: secure.URL, document: consumers(t, identity(t, secure.URL, ""), trusting)},
		"without its authority":   {url: secure.URL, document: consumers(t, identity(t, secure.URL, ""), login), want: "certificate"},
		"with a broken authority": {url: secure.URL, document: consumers(t, identity(t, secure.URL, ""), broken), want: "has no certificate"},
		"of another path":         {url: open.URL, document: consumers(t, identity(t, open.URL, "chart"), login), want: "401 Unauthorized"},
		"of another port":         {url: open.URL, document: consumers(t, identity(t, secure.URL, ""), login), want: "401 Unauthorized"},
		"after an entry that fits": {
			url: open.URL, document: consumers(t, identity(t, open.URL, "charts"), wrong), auths: fits,
		},
		"for registries": {
			url: open.URL, document: consumers(t, map[string]any{"type": "OCIRegistry", "hostname": "127.0.0.1"}, login), want: "401 Unauthorized",
		},
		"that cannot be read": {url: open.URL, document: "sesame: [", want: "ocmConfig: ConfigMap charts, key .ocmconfig"},
	} {
		t.Run(name, func(t *testing.T) {
			namespace := inScope(t, c.document, c.inSecret, c.auths...)
			source := charts.New(charts.Options{Host: testkit.Server(t).Client(), Dialer: local()})
			_, err := source.Fetch(t.Context(), charts.Request{Chart: repo(c.url + "/charts"), Namespace: namespace, Context: "charts"})
			switch {
			case c.want == "" && err != nil, c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
				t.Errorf("%v, want %q", err, c.want)
			case err != nil && (strings.Contains(err.Error(), "sesame") || strings.Contains(err.Error(), "dXNlcj")):
				t.Errorf("the error shows the credential: %v", err)
			}
		})
	}
}
