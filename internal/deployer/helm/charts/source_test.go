// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package charts_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	helmv1alpha1 "espalier.dev/api/deployer/helm/v1alpha1"
	landscaper "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/deployer/helm/charts"
	"espalier.dev/internal/dial"
	"espalier.dev/internal/failure"
	"espalier.dev/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

type files map[string]string

// entry is a file of an archive, written as it is, even if invalid.
type entry struct {
	header  tar.Header
	content string
}

func archiveOf(entries ...entry) []byte {
	var buffer bytes.Buffer
	zipped := gzip.NewWriter(&buffer)
	archive := tar.NewWriter(zipped)
	for _, e := range entries {
		if e.header.Typeflag == 0 {
			e.header.Typeflag = tar.TypeReg
		}
		if e.header.Typeflag == tar.TypeReg && e.header.Size == 0 {
			e.header.Size = int64(len(e.content))
		}
		_ = archive.WriteHeader(&e.header)
		_, _ = archive.Write([]byte(e.content))
	}
	_ = archive.Close()
	_ = zipped.Close()
	return buffer.Bytes()
}

func packed(f files) []byte {
	var entries []entry
	for _, name := range slices.Sorted(maps.Keys(f)) {
		entries = append(entries, entry{header: tar.Header{Name: "shop/" + name}, content: f[name]})
	}
	return archiveOf(entries...)
}

const metadata = "apiVersion: v2\nname: shop\nversion: 1.2.3+build\n"

func shop() []byte { return packed(files{"Chart.yaml": metadata, "templates/a.yaml": "a: b"}) }

func raw(data []byte) helmv1alpha1.Chart {
	return helmv1alpha1.Chart{Archive: &helmv1alpha1.Archive{Raw: base64.StdEncoding.EncodeToString(data)}}
}

func remote(url string) helmv1alpha1.Chart {
	return helmv1alpha1.Chart{Archive: &helmv1alpha1.Archive{Remote: &helmv1alpha1.RemoteArchive{URL: url}}}
}

func repo(url string) helmv1alpha1.Chart {
	return helmv1alpha1.Chart{HelmChartRepo: &helmv1alpha1.HelmChartRepo{HelmChartRepoURL: url, HelmChartName: "shop", HelmChartVersion: "1.2.3+build"}}
}

func local() dial.Rules { return dial.Rules{AllowLoopback: true} }

func fetch(t *testing.T, o charts.Options, chart helmv1alpha1.Chart) (*charts.Package, error) {
	t.Helper()
	if o.Host == nil {
		o.Host = testkit.Server(t).Client()
	}
	return charts.New(o).Fetch(t.Context(), charts.Request{Chart: chart, Namespace: "nowhere"})
}

func TestAnArchiveIsRead(t *testing.T) {
	got, err := fetch(t, charts.Options{}, raw(shop()))
	if err != nil || got.Metadata.Name != "shop" || got.Metadata.Version != "1.2.3+build" {
		t.Fatalf("%+v, %v", got, err)
	}
}

// The digest covers the content: it does not matter how a chart was packed.
func TestTheDigestIsThatOfTheContent(t *testing.T) {
	digest := func(data []byte) string {
		opened, err := charts.Open(data)
		if err != nil {
			t.Fatal(err)
		}
		return opened.Digest
	}
	first := digest(shop())
	reordered := archiveOf(
		entry{header: tar.Header{Name: "other/templates/a.yaml", Mode: 0o777}, content: "a: b"},
		entry{header: tar.Header{Name: "other/", Typeflag: tar.TypeDir}},
		entry{header: tar.Header{Name: "other/Chart.yaml"}, content: metadata},
	)
	if digest(reordered) != first {
		t.Error("the same files have another digest")
	}
	if digest(packed(files{"Chart.yaml": metadata, "templates/a.yaml": "a: c"})) == first {
		t.Error("other files have the same digest")
	}
}

func TestPackedSubchartsAreUnpacked(t *testing.T) {
	inner := archiveOf(
		entry{header: tar.Header{Name: "inner/Chart.yaml"}, content: "apiVersion: v2\nname: inner\nversion: 0.1.0\n"},
		entry{header: tar.Header{Name: "inner/templates/b.yaml"}, content: "c: d"},
	)
	opened, err := charts.Open(packed(files{
		"Chart.yaml": metadata + "dependencies: [{name: inner, version: 0.1.0}]\n", "charts/inner-0.1.0.tgz": string(inner),
	}))
	if err != nil {
		t.Fatal(err)
	}
	loaded, err := opened.Load()
	if err != nil || len(loaded.Dependencies()) != 1 || loaded.Dependencies()[0].Name() != "inner" ||
		len(loaded.Dependencies()[0].Templates) != 1 {
		t.Errorf("%+v, %v", loaded.Dependencies(), err)
	}
}

// nestedTimes packs a chart into a chart, repeatedly.
func nestedTimes(times int) []byte {
	data := shop()
	for range times {
		data = packed(files{"Chart.yaml": metadata, "charts/x.tgz": string(data)})
	}
	return data
}

func manyFiles() []byte {
	var entries []entry
	for i := range 10_001 {
		entries = append(entries, entry{header: tar.Header{Name: fmt.Sprintf("shop/%d", i)}, content: "x"})
	}
	return archiveOf(entries...)
}

func TestHostileArchivesAreRejected(t *testing.T) {
	zeros := string(make([]byte, 15<<20))
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"no gzip":                 {[]byte("hello"), "not compressed with gzip"},
		"no tar":                  {gzipped("hello, this is no archive of the kind that is expected"), "not a tar archive"},
		"nothing":                 {archiveOf(), "Chart.yaml file is missing"},
		"no Chart.yaml":           {packed(files{"templates/a.yaml": ""}), "Chart.yaml file is missing"},
		"bad metadata":            {packed(files{"Chart.yaml": "apiVersion: v2\nname: ../../etc\nversion: 1.0.0\n"}), "chart.metadata.name"},
		"not in a folder":         {archiveOf(entry{header: tar.Header{Name: "Chart.yaml"}, content: metadata}), "not in a folder"},
		"outside":                 {archiveOf(entry{header: tar.Header{Name: "shop/../../x"}, content: "x"}), "leads out of the chart"},
		"absolute":                {archiveOf(entry{header: tar.Header{Name: "/etc/x"}, content: "x"}), "leads out of the chart"},
		"backslashes":             {archiveOf(entry{header: tar.Header{Name: `shop\..\..\x`}, content: "x"}), "leads out of the chart"},
		"a link":                  {archiveOf(entry{header: tar.Header{Name: "shop/x", Typeflag: tar.TypeSymlink, Linkname: "/etc/passwd"}}), "no links or devices"},
		"a device":                {archiveOf(entry{header: tar.Header{Name: "shop/x", Typeflag: tar.TypeChar}}), "no links or devices"},
		"a large file":            {packed(files{"x": zeros + zeros}), "has more than"},
		"large together":          {packed(files{"a": zeros, "b": zeros, "c": zeros, "d": zeros, "e": zeros}), "more than 67108864 bytes"},
		"large in a subchart":     {packed(files{"a": zeros, "b": zeros, "charts/x.tgz": string(packed(files{"a": zeros, "b": zeros, "c": zeros}))}), "more than 67108864 bytes"},
		"many files":              {manyFiles(), "more than 10000 files"},
		"nested too deep":         {nestedTimes(10), "more than 8 levels"},
		"a library":               {packed(files{"Chart.yaml": metadata + "type: library\n"}), "cannot be installed"},
		"a dependency is missing": {packed(files{"Chart.yaml": metadata + "dependencies: [{name: inner, version: 1.0.0}]\n"}), "needs chart inner"},
		"cut off":                 {shop()[:len(shop())-30], "unexpected EOF"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := fetch(t, charts.Options{}, raw(c.data))
			if err == nil || !strings.Contains(err.Error(), c.want) || failure.KindOf(err) != failure.Terminal {
				t.Errorf("the error is %v, want %q", err, c.want)
			}
		})
	}
	if _, err := fetch(t, charts.Options{}, helmv1alpha1.Chart{Archive: &helmv1alpha1.Archive{Raw: "%%%"}}); err == nil || !strings.Contains(err.Error(), "not base64") {
		t.Errorf("%v", err)
	}
}

func gzipped(text string) []byte {
	var buffer bytes.Buffer
	zipped := gzip.NewWriter(&buffer)
	_, _ = zipped.Write([]byte(text))
	_ = zipped.Close()
	return buffer.Bytes()
}

func serve(t *testing.T, handler http.HandlerFunc) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server
}

func TestARemoteArchiveIsFetched(t *testing.T) {
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/shop.tgz":
			_, _ = w.Write(shop())
		case "/moved":
			http.Redirect(w, r, "/shop.tgz", http.StatusFound)
		case "/circle":
			http.Redirect(w, r, "/circle", http.StatusFound)
		case "/endless":
			for range 33 {
				if _, err := w.Write(make([]byte, 1<<20)); err != nil {
					return
				}
			}
		case "/closed":
			w.WriteHeader(http.StatusUnauthorized)
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	})
	for path, want := range map[string]string{
		"/shop.tgz": "", "/moved": "", "/circle": "redirected more than", "/endless": "more than 33554432 bytes",
		"/closed?token=sesame": "401 Unauthorized", "/nothing": "404 Not Found",
	} {
		_, err := fetch(t, charts.Options{Dialer: local()}, remote(server.URL+path))
		switch {
		case want == "" && err != nil, want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: %v, want %q", path, err, want)
		case err != nil && strings.Contains(err.Error(), "sesame"):
			t.Errorf("the error shows the query: %v", err)
		}
	}
}

func TestAddressesAreGuarded(t *testing.T) {
	server := serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(shop()) })
	for url, want := range map[string]string{
		server.URL + "/shop.tgz":     "loopback addresses are not allowed here",
		"http://169.254.169.254/":    "metadata services",
		"file:///etc/passwd":         "must begin with https:// or http://",
		"":                           "chart has no source",
		"http://user:sesame@[::bad/": "is not a URL",
	} {
		_, err := fetch(t, charts.Options{}, remote(url))
		if url == "" {
			_, err = fetch(t, charts.Options{}, helmv1alpha1.Chart{})
		}
		if err == nil || !strings.Contains(err.Error(), want) || failure.KindOf(err) != failure.Terminal {
			t.Errorf("%s: %v", url, err)
		} else if strings.Contains(err.Error(), "sesame") {
			t.Errorf("the error shows the password: %v", err)
		}
	}
}

// repository is a chart repository behind basic authentication. Its index refers to a relative address.
type repository struct {
	data      []byte
	digest    string
	downloads atomic.Int64
	// header is the Authorization header that requests must have; if it is empty, any will do.
	header string
}

const basic = "Basic dXNlcjpzZXNhbWU="

func (r *repository) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	if r.header != "" && request.Header.Get("Authorization") != r.header {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	switch request.URL.Path {
	case "/charts/index.yaml":
		fmt.Fprintf(w, "apiVersion: v1\nentries:\n  shop:\n  - {version: 9.9.9, urls: [no.tgz]}\n  - {version: 1.2.3+build, digest: %q, urls: [files/shop.tgz]}\n", r.digest)
	case "/charts/files/shop.tgz":
		r.downloads.Add(1)
		_, _ = w.Write(r.data)
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

func TestAChartRepositoryIsAskedAndChartsAreRememberedByDigest(t *testing.T) {
	data := shop()
	shelf := &repository{data: data, digest: fmt.Sprintf("%x", sha256.Sum256(data))}
	server := serve(t, shelf.ServeHTTP)
	source := charts.New(charts.Options{Host: testkit.Server(t).Client(), Dialer: local()})
	for range 3 {
		if _, err := source.Fetch(t.Context(), charts.Request{Chart: repo(server.URL + "/charts/"), Namespace: "nowhere"}); err != nil {
			t.Fatal(err)
		}
	}
	if got := shelf.downloads.Load(); got != 1 {
		t.Errorf("the chart was downloaded %d times", got)
	}
	if got := source.Remembered(); got != 1 {
		t.Errorf("%d charts are remembered", got)
	}
	shelf.digest = strings.Repeat("0", 64)
	_, err := source.Fetch(t.Context(), charts.Request{Chart: repo(server.URL + "/charts"), Namespace: "nowhere"})
	if err == nil || !strings.Contains(err.Error(), "is expected") {
		t.Errorf("a chart of another digest: %v", err)
	}
}

func TestWhatARepositoryDoesNotHave(t *testing.T) {
	server := serve(t, (&repository{data: shop()}).ServeHTTP)
	for want, change := range map[string]func(*helmv1alpha1.HelmChartRepo){
		"has no chart other":              func(r *helmv1alpha1.HelmChartRepo) { r.HelmChartName = "other" },
		"has no version 3.0.0":            func(r *helmv1alpha1.HelmChartRepo) { r.HelmChartVersion = "3.0.0" },
		"404 Not Found":                   func(r *helmv1alpha1.HelmChartRepo) { r.HelmChartRepoURL = server.URL + "/elsewhere" },
		"must begin with https:// or htt": func(r *helmv1alpha1.HelmChartRepo) { r.HelmChartRepoURL = "ftp://example.com" },
	} {
		chart := repo(server.URL + "/charts")
		change(chart.HelmChartRepo)
		if _, err := fetch(t, charts.Options{Dialer: local()}, chart); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// scope stores a Context with credentials, and a Secret that holds them.
func scope(t *testing.T, auths ...map[string]any) string {
	t.Helper()
	server := testkit.Server(t)
	namespace := server.Namespace(t)
	value, err := landscaper.NewAnyJSON(map[string]any{"auths": auths})
	if err != nil {
		t.Fatal(err)
	}
	context := &landscaper.Context{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "charts"}}
	context.Configurations = map[string]landscaper.AnyJSON{helmv1alpha1.ChartRepoCredentialsKey: value}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "credentials"}, Data: map[string][]byte{"authHeader": []byte(basic), "other": []byte("Bearer x")}}
	testkit.Create(t, server, context, secret)
	return namespace
}

func TestCredentialsOfTheContext(t *testing.T) {
	shelf := &repository{data: shop(), header: basic}
	server := serve(t, shelf.ServeHTTP)
	secure := httptest.NewTLSServer(shelf)
	t.Cleanup(secure.Close)
	authority := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: secure.Certificate().Raw}))
	wrong := "Basic d3Jvbmc="
	for name, c := range map[string]struct {
		auths []map[string]any
		url   string
		want  string
	}{
		"header":                       {[]map[string]any{{"url": server.URL, "authHeader": basic}}, server.URL, ""},
		"secret":                       {[]map[string]any{{"url": server.URL + "/charts/", "secretRef": map[string]any{"name": "credentials"}}}, server.URL, ""},
		"none":                         {nil, server.URL, "401 Unauthorized"},
		"those of another place":       {[]map[string]any{{"url": "https://example.com", "authHeader": basic}, {"url": server.URL + "/chart", "authHeader": basic}}, server.URL, "401 Unauthorized"},
		"the longest url counts":       {[]map[string]any{{"url": server.URL + "/charts", "authHeader": basic}, {"url": server.URL, "authHeader": wrong}}, server.URL, ""},
		"both":                         {[]map[string]any{{"url": server.URL, "authHeader": basic, "secretRef": map[string]any{"name": "credentials"}}}, server.URL, "set either authHeader or secretRef"},
		"not basic":                    {[]map[string]any{{"url": server.URL, "secretRef": map[string]any{"name": "credentials", "key": "other"}}}, server.URL, "must begin with Basic"},
		"no such key":                  {[]map[string]any{{"url": server.URL, "secretRef": map[string]any{"name": "credentials", "key": "none"}}}, server.URL, "has no key none"},
		"no such secret":               {[]map[string]any{{"url": server.URL, "secretRef": map[string]any{"name": "none"}}}, server.URL, `"none" not found`},
		"no url":                       {[]map[string]any{{"authHeader": basic}}, server.URL, "auths[0].url is missing"},
		"own authority":                {[]map[string]any{{"url": secure.URL, "authHeader": basic, "customCAData": authority}}, secure.URL, ""},
		"own authority in base64":      {[]map[string]any{{"url": secure.URL, "authHeader": basic, "customCAData": base64.StdEncoding.EncodeToString([]byte(authority))}}, secure.URL, ""},
		"an authority that is nothing": {[]map[string]any{{"url": secure.URL, "authHeader": basic, "customCAData": "x"}}, secure.URL, "has no certificate"},
		"an unknown authority":         {[]map[string]any{{"url": secure.URL, "authHeader": basic}}, secure.URL, "certificate"},
	} {
		t.Run(name, func(t *testing.T) {
			namespace := scope(t, c.auths...)
			source := charts.New(charts.Options{Host: testkit.Server(t).Client(), Dialer: local()})
			_, err := source.Fetch(t.Context(), charts.Request{Chart: repo(c.url + "/charts"), Namespace: namespace, Context: "charts"})
			switch {
			case c.want == "" && err != nil, c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
				t.Errorf("%v, want %q", err, c.want)
			case err != nil && (strings.Contains(err.Error(), basic) || strings.Contains(err.Error(), "dXNlcj")):
				t.Errorf("the error shows the credential: %v", err)
			}
		})
	}
	if _, err := fetch(t, charts.Options{Dialer: local()}, repo(server.URL)); err == nil || !strings.Contains(err.Error(), "401") {
		t.Errorf("without a Context: %v", err)
	}
}

// An index may refer to another host. Credentials are not sent there.
func TestCredentialsStayWithTheirHost(t *testing.T) {
	var shown atomic.Value
	other := serve(t, func(w http.ResponseWriter, r *http.Request) {
		shown.Store(r.Header.Get("Authorization"))
		_, _ = w.Write(shop())
	})
	index := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, "entries: {shop: [{version: 1.2.3+build, urls: [%q]}]}", other.URL+"/shop.tgz")
	})
	namespace := scope(t, map[string]any{"url": index.URL, "authHeader": basic})
	source := charts.New(charts.Options{Host: testkit.Server(t).Client(), Dialer: local()})
	if _, err := source.Fetch(t.Context(), charts.Request{Chart: repo(index.URL), Namespace: namespace, Context: "charts"}); err != nil {
		t.Fatal(err)
	}
	if shown.Load() != "" {
		t.Errorf("the other host was shown %q", shown.Load())
	}
}
