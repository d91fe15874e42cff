// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package charts_test

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	helmv1alpha1 "espalier.dev/api/deployer/helm/v1alpha1"
	landscaper "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/artifact"
	"espalier.dev/internal/component"
	"espalier.dev/internal/deployer/helm/charts"
	"espalier.dev/internal/failure"
	"espalier.dev/internal/oci"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/components"
	"espalier.dev/internal/testkit/helmcharts"
	"espalier.dev/internal/testkit/registry"
)

const password = "the-w0rd-of-the-registry"

// shelves is a registry, and a namespace of a cluster with a Context that refers to it.
type shelves struct {
	*testing.T
	helmcharts.Shelf
	namespace string
	source    *charts.Source
}

// newShelves starts an open registry without TLS, or a private one with a password and its own certificate authority.
func newShelves(t *testing.T, private bool) *shelves {
	t.Helper()
	s := &shelves{T: t, namespace: testkit.Server(t).Namespace(t)}
	if private {
		s.Username, s.Password = "robot", password
	}
	s.Registry = registry.Start(t, registry.Options{TLS: private, Username: s.Username, Password: s.Password})
	s.restart()
	return s
}

// restart forgets everything, like a new process without a cache on disk.
func (s *shelves) restart() {
	s.Helper()
	registries, err := artifact.NewRegistries(artifact.RegistryOptions{Rules: local(), CacheDirectory: s.TempDir(), CacheBytes: 64 << 20})
	if err != nil {
		s.Fatal(err)
	}
	s.source = charts.New(charts.Options{Host: testkit.Server(s.T).Client(), Dialer: local(), Registries: registries.Open})
}

// scope stores the Context charts, which refers to the registry. It contains the password if there is one.
func (s *shelves) scope(secret string) {
	s.Helper()
	c := &landscaper.Context{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "charts"}}
	c.RepositoryContext = &landscaper.AnyJSON{Raw: []byte(`{"type":"ociRegistry","baseUrl":"` + s.URL + `"}`)}
	if secret != "" {
		c.RegistryPullSecrets = []landscaper.LocalObjectReference{{Name: "pull"}}
		testkit.Create(s.T, testkit.Server(s.T), s.pullSecret(secret))
	}
	testkit.Create(s.T, testkit.Server(s.T), c)
}

func (s *shelves) pullSecret(secret string) *corev1.Secret {
	host, port, _ := strings.Cut(s.Host, ":")
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "pull"},
		StringData: map[string]string{".ocmcredentialconfig": `{type: credentials.config.ocm.software, consumers: [{
			identity: {type: OCIRegistry, hostname: "` + host + `", port: "` + port + `"},
			credentials: [{type: Credentials, properties: {username: robot, password: ` + secret + `, certificateAuthority: "` +
			strings.ReplaceAll(string(s.CA), "\n", "\\n") + `"}}]}]}`},
	}
}

func (s *shelves) fetch(chart helmv1alpha1.Chart, job string) (*charts.Package, error) {
	return s.source.Fetch(s.Context(), charts.Request{Chart: chart, Namespace: s.namespace, Context: "charts", Item: "item", Job: job})
}

func (s *shelves) mustFetch(chart helmv1alpha1.Chart, job string) *charts.Package {
	s.Helper()
	fetched, err := s.fetch(chart, job)
	if err != nil {
		s.Fatal(err)
	}
	return fetched
}

// refuses checks that reading a chart fails, what the error says, and whether a retry may help.
func (s *shelves) refuses(chart helmv1alpha1.Chart, kind failure.Kind, wanted ...string) {
	s.Helper()
	_, err := s.fetch(chart, "")
	if err == nil || failure.KindOf(err) != kind {
		s.Errorf("%v, want an error that is %s", err, kind)
		return
	}
	for _, text := range wanted {
		if !strings.Contains(err.Error(), text) {
			s.Errorf("%v, want %q", err, text)
		}
	}
	if strings.Contains(err.Error(), password) || strings.Contains(err.Error(), "wr0ng") {
		s.Errorf("the error shows the password: %v", err)
	}
	if details := failure.DetailsOf(err); details.Reason == "" || details.Operation == "" {
		s.Errorf("details %+v", details)
	}
}

func (s *shelves) ref(reference string) helmv1alpha1.Chart { return helmv1alpha1.Chart{Ref: reference} }

func version(v string) []byte {
	return packed(files{"Chart.yaml": "apiVersion: v2\nname: shop\nversion: " + v + "\n", "templates/a.yaml": "a: b"})
}

// The reference must ask for plain HTTP explicitly.
func TestAChartIsReadFromARegistry(t *testing.T) {
	s := newShelves(t, false)
	s.scope("")
	first := s.Push(t, "charts/shop:1.0.0", version("1.0.0"))
	second := s.Push(t, "charts/shop:2.0.0", version("2.0.0"))
	for reference, want := range map[string]string{
		":1.0.0":            "1.0.0",
		":2.0.0":            "2.0.0",
		":1.0.0@" + first:   "1.0.0",
		":latest@" + second: "2.0.0",
	} {
		if got := s.mustFetch(s.ref(s.URL+"/charts/shop"+reference), ""); got.Metadata.Version != want {
			t.Errorf("%s leads to version %s, want %s", reference, got.Metadata.Version, want)
		}
	}
}

func TestAnOCIRepositoryHasVersionsWithAPlusSign(t *testing.T) {
	s := newShelves(t, true)
	s.scope(password)
	s.Push(t, "charts/shop:1.2.3+build", shop())
	for _, chart := range []helmv1alpha1.Chart{
		repo(" oci://" + s.Host + "/charts/ "),
		s.ref(s.Host + "/charts/shop:1.2.3_build"),
		s.ref("oci://" + s.Host + "/charts/shop:1.2.3_build"),
	} {
		if got := s.mustFetch(chart, ""); got.Metadata.Version != "1.2.3+build" {
			t.Errorf("got version %s", got.Metadata.Version)
		}
	}
}

func TestChartsAreResourcesOfComponents(t *testing.T) {
	for _, private := range []bool{false, true} {
		s := newShelves(t, private)
		secret := ""
		if private {
			secret = password
		}
		s.scope(secret)
		s.Push(t, "charts/shop:2.0.0", version("2.0.0"))
		components.Component{Name: "example.com/shop", Version: "3.0.0", Resources: []components.Resource{
			{Name: "local", Type: "helmChart", MediaType: "application/vnd.cncf.helm.chart.content.v1.tar+gzip", Content: version("1.0.0")},
			{Name: "artifact", Type: "helmChart", Access: map[string]any{"type": "ociArtifact", "imageReference": s.Host + "/charts/shop:2.0.0"}},
			{Name: "text", Type: "plain", MediaType: "text/plain", Content: []byte("no chart")},
		}}.Push(t, components.Store(t, s.Registry, oci.Credential{Username: s.Username, Password: s.Password}))
		for resource, want := range map[string]string{"local": "1.0.0", "artifact": "2.0.0"} {
			if got := s.mustFetch(resourceOf(t, "3.0.0", resource), ""); got.Metadata.Version != want {
				t.Errorf("%s leads to version %s, want %s", resource, got.Metadata.Version, want)
			}
		}
		s.refuses(resourceOf(t, "3.0.0", "text"), failure.Terminal, "not compressed with gzip")
		s.refuses(resourceOf(t, "3.0.0", "other"), failure.Terminal, "chart.resourceRef", "example.com/shop:3.0.0", "other")
		s.refuses(resourceOf(t, "4.0.0", "local"), failure.Retryable, "chart.resourceRef", "example.com/shop:4.0.0", "not found")
		s.refuses(helmv1alpha1.Chart{ResourceRef: "%"}, failure.Terminal, "chart.resourceRef", "getResourceKey")
	}
}

// Of several sources, the first one in the order of the documentation counts.
func TestTheFirstSourceCounts(t *testing.T) {
	s := newShelves(t, false)
	s.scope("")
	s.Push(t, "charts/shop:3.0.0", version("3.0.0"))
	components.Component{Name: "example.com/shop", Version: "3.0.0", Resources: []components.Resource{
		{Name: "local", Type: "helmChart", MediaType: "application/vnd.cncf.helm.chart.content.v1.tar+gzip", Content: version("5.0.0")},
	}}.Push(t, components.Store(t, s.Registry, oci.Credential{}))
	shelf := serve(t, (&repository{data: shop()}).ServeHTTP)
	file := serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(version("2.0.0")) })

	chart := resourceOf(t, "3.0.0", "local")
	chart.HelmChartRepo = repo(shelf.URL + "/charts").HelmChartRepo
	chart.Ref = s.URL + "/charts/shop:3.0.0"
	chart.Archive = remote(file.URL).Archive
	chart.Archive.Raw = raw(version("1.0.0")).Archive.Raw
	for _, step := range []struct {
		want string
		drop func()
	}{
		{"1.0.0", func() { chart.Archive.Raw = "" }},
		{"2.0.0", func() { chart.Archive = nil }},
		{"3.0.0", func() { chart.Ref = "" }},
		{"1.2.3+build", func() { chart.HelmChartRepo = nil }},
		{"5.0.0", func() {}},
	} {
		if got := s.mustFetch(chart, step.want); got.Metadata.Version != step.want {
			t.Errorf("%+v leads to version %s, want %s", chart, got.Metadata.Version, step.want)
		}
		step.drop()
	}
}

func resourceOf(t *testing.T, version, name string) helmv1alpha1.Chart {
	t.Helper()
	key, err := component.ResourceKey{
		Component: component.ID{Name: "example.com/shop", Version: version}, Resource: component.Named(name),
	}.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return helmv1alpha1.Chart{ResourceRef: key}
}

func TestCredentialsForRegistriesAreThoseOfTheContext(t *testing.T) {
	s := newShelves(t, true)
	s.Push(t, "charts/shop:1.0.0", version("1.0.0"))
	chart := s.ref(s.Host + "/charts/shop:1.0.0")

	t.Run("wrong ones are refused until they are right", func(t *testing.T) {
		s := *s
		s.T, s.namespace = t, testkit.Server(t).Namespace(t)
		s.scope("wr0ng")
		s.refuses(chart, failure.Retryable, "chart.ref", s.Host, "rejects the credentials", "Context "+s.namespace+"/charts")
		secret := s.pullSecret(password)
		if err := testkit.Server(t).Client().Update(t.Context(), secret); err != nil {
			t.Fatal(err)
		}
		s.mustFetch(chart, "")
	})
	t.Run("what the Secret trusts is not trusted without it", func(t *testing.T) {
		s := *s
		s.T, s.namespace = t, testkit.Server(t).Namespace(t)
		s.scope("")
		s.refuses(chart, failure.Retryable, "its certificate is not trusted")
	})
	t.Run("a Secret that does not exist", func(t *testing.T) {
		s := *s
		s.T, s.namespace = t, testkit.Server(t).Namespace(t)
		s.scope(password)
		if err := testkit.Server(t).Client().Delete(t.Context(), s.pullSecret("")); err != nil {
			t.Fatal(err)
		}
		s.refuses(chart, failure.Retryable, "Context "+s.namespace+"/charts: registryPullSecrets[0]", "there is no Secret "+s.namespace+"/pull")
	})
	t.Run("a Context that does not exist", func(t *testing.T) {
		s := *s
		s.T, s.namespace = t, testkit.Server(t).Namespace(t)
		s.refuses(chart, failure.Retryable, "Context charts")
	})
}

// Without credentials, the error says where to configure them.
func TestARegistryWithAPasswordNeedsACredential(t *testing.T) {
	s := newShelves(t, false)
	s.Registry = registry.Start(t, registry.Options{Username: "robot", Password: password})
	s.Username, s.Password = "robot", password
	s.Push(t, "charts/shop:1.0.0", version("1.0.0"))
	chart := s.ref(s.URL + "/charts/shop:1.0.0")

	_, err := s.source.Fetch(t.Context(), charts.Request{Chart: chart, Namespace: s.namespace})
	if err == nil || !strings.Contains(err.Error(), "there is no Context "+s.namespace+"/default") ||
		failure.KindOf(err) != failure.Retryable {
		t.Errorf("without a Context: %v", err)
	}
	if codes := failure.DetailsOf(err).Codes; len(codes) != 1 || codes[0] != string(landscaper.ErrorUnauthorized) {
		t.Errorf("codes %v", codes)
	}
	s.scope("")
	s.refuses(chart, failure.Retryable, "Context "+s.namespace+"/charts has no credentials", "registryPullSecrets")

	login := base64.StdEncoding.EncodeToString([]byte("robot:" + password))
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "docker"},
		Type:       corev1.SecretTypeDockerConfigJson,
		StringData: map[string]string{".dockerconfigjson": fmt.Sprintf(`{"auths":{%q:{"auth":%q}}}`, s.Host, login)},
	}
	scope := &landscaper.Context{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "default"}}
	scope.RegistryPullSecrets = []landscaper.LocalObjectReference{{Name: "docker"}}
	testkit.Create(t, testkit.Server(t), secret, scope)
	if _, err := s.source.Fetch(t.Context(), charts.Request{Chart: chart, Namespace: s.namespace}); err != nil {
		t.Errorf("with a pull secret: %v", err)
	}
}

func TestWhatARegistryDoesNotHaveOrSendsWrongly(t *testing.T) {
	s := newShelves(t, false)
	s.scope("")
	s.Push(t, "charts/shop:1.0.0", version("1.0.0"))
	components.Component{Name: "example.com/shop", Version: "3.0.0"}.Push(t, components.Store(t, s.Registry, oci.Credential{}))
	none := "@sha256:" + strings.Repeat("0", 64)

	s.refuses(s.ref(s.URL+"/charts/shop:9.9.9"), failure.Retryable, "chart.ref", "charts/shop:9.9.9", "not found")
	s.refuses(s.ref(s.URL+"/charts/shop:1.0.0"+none), failure.Retryable, "not found")
	s.refuses(s.ref(s.URL+"/charts/shop"), failure.Terminal, "a tag is required")
	s.refuses(s.ref(s.URL+"/component-descriptors/example.com/shop:3.0.0"), failure.Terminal, "the artifact is not a chart")
	s.refuses(s.ref("http://robot:"+password+"@"+s.Host+"/charts/shop:1.0.0"), failure.Terminal, "chart.ref")

	s.Break(registry.On("/blobs/", registry.Wrong))
	s.refuses(s.ref(s.URL+"/charts/shop:1.0.0"), failure.Retryable, "digest")
	s.Break(registry.On("/manifests/", registry.Status(503)))
	s.restart()
	s.refuses(s.ref(s.URL+"/charts/shop:1.0.0"), failure.Retryable, "the registry fails (status 503)")
	s.Break(nil)
	s.mustFetch(s.ref(s.URL+"/charts/shop:1.0.0"), "")
}

// A job keeps the meaning that a tag had when the job started; the next job resolves it again. Content is fetched once.
func TestATagDoesNotMoveWithinAJob(t *testing.T) {
	s := newShelves(t, false)
	s.scope("")
	chart := s.ref(s.URL + "/charts/shop:1.0.0")
	s.Push(t, "charts/shop:1.0.0", version("1.0.0"))
	first := s.mustFetch(chart, "one")
	s.Push(t, "charts/shop:1.0.0", packed(files{"Chart.yaml": "apiVersion: v2\nname: shop\nversion: 1.0.0\n", "templates/a.yaml": "a: c"}))
	if again := s.mustFetch(chart, "one"); again.Digest != first.Digest {
		t.Error("the tag has moved within a job")
	}
	second := s.mustFetch(chart, "two")
	if second.Digest == first.Digest {
		t.Error("the next job has the old chart")
	}
	if s.mustFetch(chart, "three") != second {
		t.Error("the same chart was read twice")
	}
	if fetched := s.Count("GET /v2/charts/shop/blobs/"); fetched != 2 {
		t.Errorf("%d blobs were fetched, want two", fetched)
	}
}

func TestWithoutRegistriesTheirChartsAreRefused(t *testing.T) {
	for _, chart := range []helmv1alpha1.Chart{{Ref: "registry.example/shop:1.0.0"}, repo("oci://registry.example"), resourceOf(t, "1.0.0", "x")} {
		_, err := fetch(t, charts.Options{}, chart)
		if err == nil || !strings.Contains(err.Error(), "needs a client for OCI registries and components") {
			t.Errorf("without registries: %v", err)
		}
	}
}
