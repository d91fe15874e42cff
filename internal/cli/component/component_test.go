// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"espalier.dev/internal/oci"
	"espalier.dev/internal/testkit/clitest"
	"espalier.dev/internal/testkit/components"
	"espalier.dev/internal/testkit/registry"
)

const shopTree = `example.com/shop:1.2.0
├─ resource blueprint 1.2.0 (landscaper.gardener.cloud/blueprint)
├─ web: example.com/web:2.0.0
│  └─ base: example.com/base:0.5.0
│     └─ resource licence 0.5.0 (text)
├─ db: example.com/db:3.0.0
│  └─ base: example.com/base:0.5.0 (see above)
├─ front: example.com/web:2.0.0 (see above)
└─ front: example.com/web:2.0.0 (see above)
`

// A component looks the same wherever it is.
func TestComponentsOfRegistriesAndArchives(t *testing.T) {
	for name, repository := range everywhere(t, shop(t)) {
		t.Run(name, func(t *testing.T) {
			at := repository + "//example.com/shop:1.2.0"
			got := run(t, "tree", at)
			if diff := cmp.Diff(clitest.Result{Stdout: shopTree}, got); diff != "" {
				t.Errorf("tree (-want +got):\n%s", diff)
			}
			for format, decode := range map[string]func(string, any) error{
				"yaml": func(text string, into any) error { return yaml.UnmarshalStrict([]byte(text), into) },
				"json": func(text string, into any) error { return json.Unmarshal([]byte(text), into) },
			} {
				var document map[string]any
				got := run(t, "get", at, "-o", format)
				if err := decode(got.Stdout, &document); err != nil || got.Code != 0 {
					t.Fatalf("get -o %s: %v, %+v", format, err, got)
				}
				component, _ := document["component"].(map[string]any)
				if component["name"] != "example.com/shop" || component["version"] != "1.2.0" {
					t.Errorf("get -o %s: %v", format, component)
				}
			}
			checkLicence(t, at)
		})
	}
}

// A tree is also told to programs, each component once, and drawn.
func TestTreesInOtherFormats(t *testing.T) {
	var at string
	for _, repository := range everywhere(t, shop(t)) {
		at = repository + "//example.com/shop:1.2.0"
	}
	for format, want := range map[string]string{
		"jsonpath={.components[*].name}": "example.com/shop example.com/web example.com/base example.com/db",
		"json":                           `"component": "example.com/base"`,
		"yaml":                           "name: web\n",
		"mermaid":                        `|"base"| n`,
		"dot":                            `digraph "example.com/shop:1.2.0" {`,
		"name":                           "example.com/shop:1.2.0\nexample.com/web:2.0.0\n",
		"svg":                            "From example.com/shop to example.com/web: web.",
	} {
		if got := run(t, "tree", at, "-o", format); got.Code != 0 || !strings.Contains(got.Stdout, want) {
			t.Errorf("-o %s: %+v", format, got)
		}
	}
	wantFailure(t, run(t, "tree", at, "-o", "wide"), `unknown output format "wide": --output takes tree, json, yaml, name, svg`)
}

// checkLicence reads the content of a resource that several references lead to, by each of them.
func checkLicence(t *testing.T, at string) {
	t.Helper()
	for _, way := range []string{"web", "db"} {
		uri := "cd://componentReferences/" + way + "/componentReferences/base/resources/licence"
		var shown resolved
		got := run(t, "resolve", at, uri, "-o", "json")
		if err := json.Unmarshal([]byte(got.Stdout), &shown); err != nil || got.Code != 0 {
			t.Fatalf("resolve %s: %v, %+v", uri, err, got)
		}
		shown.Access = nil
		want := resolved{Component: "example.com/base:0.5.0", Resource: "licence", Version: "0.5.0", Type: "text"}
		if diff := cmp.Diff(want, shown); diff != "" {
			t.Errorf("resolve %s (-want +got):\n%s", uri, diff)
		}
		if got := run(t, "resolve", at, uri, "--content", "-"); got != (clitest.Result{Stdout: "do what you like\n"}) {
			t.Errorf("resolve %s --content -: %+v", uri, got)
		}
		file := filepath.Join(t.TempDir(), "licence")
		if got := run(t, "resolve", at, uri, "--content", file); got != (clitest.Result{}) {
			t.Errorf("resolve %s --content: %+v", uri, got)
		}
		if text, err := os.ReadFile(file); err != nil || string(text) != "do what you like\n" {
			t.Errorf("the file has %q, %v", text, err)
		}
	}
}

// What one component refers to does not matter to somebody who only wants to see its descriptor.
func TestGetReadsOneDescriptor(t *testing.T) {
	lonely := components.Component{
		Name: "example.com/lonely", Version: "1.0.0",
		More: []components.Reference{{Name: "gone", Component: "example.com/gone", Version: "1.0.0"}},
	}
	server := filled(t, lonely)
	if got := run(t, "get", server.URL+"//example.com/lonely:1.0.0"); got.Code != 0 || !strings.Contains(got.Stdout, "example.com/gone") {
		t.Errorf("%+v", got)
	}
	const tree = "example.com/lonely:1.0.0\n└─ gone: example.com/gone:1.0.0\n"
	if got := run(t, "get", server.URL+"//example.com/lonely:1.0.0", "-o", "tree"); got != (clitest.Result{Stdout: tree}) {
		t.Errorf("-o tree: %+v", got)
	}
	if got := run(t, "get", server.URL+"//example.com/lonely:1.0.0", "-o", "name"); got != (clitest.Result{Stdout: "example.com/lonely:1.0.0\n"}) {
		t.Errorf("-o name: %+v", got)
	}
	wantFailure(t, run(t, "tree", server.URL+"//example.com/lonely:1.0.0"),
		"component example.com/lonely:1.0.0 -> gone (example.com/gone:1.0.0)", "was not found", "check name and version, or push it")
}

func TestWrongArguments(t *testing.T) {
	server := filled(t, shop(t))
	at := server.URL + "//example.com/shop:1.2.0"
	t.Chdir(t.TempDir())
	if err := os.WriteFile("notes.txt", []byte("no archive"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		args []string
		want string
	}{
		"no argument":        {[]string{"get"}, "accepts 1 arg(s)"},
		"nothing":            {[]string{"get", ""}, "write REPOSITORY//COMPONENT:VERSION"},
		"no component":       {[]string{"get", "http://localhost:5000"}, "http://localhost:5000: write REPOSITORY//COMPONENT:VERSION"},
		"no version":         {[]string{"tree", "r.example.com//example.com/shop"}, "r.example.com//example.com/shop: after // must come COMPONENT:VERSION"},
		"no repository":      {[]string{"tree", "//example.com/shop:1.0.0"}, "write REPOSITORY//COMPONENT:VERSION"},
		"no such archive":    {[]string{"tree", "./nothing//example.com/shop:1.0.0"}, "there is no archive ./nothing"},
		"no such tgz":        {[]string{"tree", "nothing.tgz//example.com/shop:1.0.0"}, "there is no archive nothing.tgz"},
		"no archive":         {[]string{"tree", "notes.txt//example.com/shop:1.0.0"}, "neither a directory nor a tar archive that can be read"},
		"no index":           {[]string{"tree", ".//example.com/shop:1.0.0"}, "file artifact-index.json is missing"},
		"a strange scheme":   {[]string{"get", "ftp://r.example.com//a:1.0.0"}, "must start with https://, http:// or oci://"},
		"a strange version":  {[]string{"get", server.URL + "//a:newest"}, "component a:newest: a name and a semantic version"},
		"a strange name":     {[]string{"get", server.URL + "//Ä b:1.0.0"}, "lower-case letters"},
		"an unknown one":     {[]string{"get", server.URL + "//example.com/none:1.0.0"}, "component example.com/none:1.0.0 was not found"},
		"a format":           {[]string{"get", at, "-o", "xml"}, `unknown output format "xml": --output takes yaml, json`},
		"no reference":       {[]string{"resolve", at, "blueprint"}, `reference "blueprint": `},
		"a component":        {[]string{"resolve", at, "cd://componentReferences/web"}, "it leads to a component, but must lead to a resource: add /resources/ and a name"},
		"no resource":        {[]string{"resolve", at, "cd://resources/none"}, "none"},
		"no place":           {[]string{"resolve", at, "cd://resources/blueprint", "--content", "none/file"}, "none"},
		"no signature":       {[]string{"verify", at, "--public-key", "k"}, "--signature is missing"},
		"no trusted key":     {[]string{"verify", at, "--signature", "s"}, "no trusted key: set --public-key or --ca"},
		"no key":             {[]string{"verify", at, "--signature", "s", "--public-key", "none.pem"}, "--public-key: open none.pem"},
		"no certificate":     {[]string{"verify", at, "--signature", "s", "--ca", "none.pem"}, "--ca: open none.pem"},
		"no configuration":   {[]string{"get", at, "--registry-config", "none.json"}, "--registry-config: open none.json"},
		"another file":       {[]string{"get", at, "--registry-config", "notes.txt"}, "credentials in notes.txt: "},
		"a password":         {[]string{"get", "https://" + username + ":" + password + "@r.example.com//a:1.0.0"}, "https://<masked>@r.example.com//a:1.0.0: an address has no user and password"},
		"a bare password":    {[]string{"tree", username + ":" + password + "@r.example.com//a:1.0.0"}, "<masked>@r.example.com//a:1.0.0: an address has no user and password"},
		"password, no name":  {[]string{"tree", "https://" + username + ":" + password + "@r.example.com"}, "https://<masked>@r.example.com: write REPOSITORY"},
		"TLS where there is": {[]string{"get", strings.Replace(at, "http:", "https:", 1)}, "it does not support TLS: if that is intended, start its address with http://"},
	} {
		t.Run(name, func(t *testing.T) { wantFailure(t, run(t, test.args...), test.want) })
	}
}

func TestCredentials(t *testing.T) {
	server := registry.Start(t, registry.Options{Username: username, Password: password})
	shop(t).Push(t, components.Store(t, server, oci.Credential{Username: username, Password: password}))
	at := server.URL + "//example.com/shop:1.2.0"
	right, wrong := dockerConfig(t, server.Host, password), dockerConfig(t, server.Host, "swordfish-77")
	for name, call := range map[string]clitest.Call{
		"by flag":         {Args: []string{"get", at, "--registry-config", right}},
		"by docker login": {Args: []string{"tree", at}, Variables: map[string]string{"DOCKER_CONFIG": filepath.Dir(right)}},
	} {
		call.Command = New
		if got := clitest.RunAlone(t, call); got.Code != 0 || got.Stderr != "" {
			t.Errorf("%s: %+v", name, got)
		}
	}
	refused := []string{"the registry rejects the credentials", "next:  docker login " + server.Host, "--registry-config"}
	for _, command := range []string{"get", "tree"} {
		wantFailure(t, run(t, command, at), refused...)
		got := run(t, command, at, "--registry-config", wrong)
		if wantFailure(t, got, refused...); strings.Contains(got.Stderr, "swordfish-77") {
			t.Errorf("it gives the password away: %s", got.Stderr)
		}
	}
	unreadable := t.TempDir()
	if err := os.Mkdir(filepath.Join(unreadable, "config.json"), 0o755); err != nil {
		t.Fatal(err)
	}
	call := clitest.Call{Command: New, Args: []string{"tree", at}, Variables: map[string]string{"DOCKER_CONFIG": unreadable}}
	wantFailure(t, clitest.RunAlone(t, call), "read the credentials of docker, or name others with --registry-config: ")
	helped := filepath.Join(t.TempDir(), "config.json")
	if err := os.WriteFile(helped, []byte(`{"credsStore": "desktop"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	wantFailure(t, run(t, "get", at, "--registry-config", helped), append(refused, "helpers (credsStore, credHelpers), which are not used")...)
	server.Break(registry.On("/manifests/", registry.Status(http.StatusForbidden)))
	wantFailure(t, run(t, "get", at, "--registry-config", right), "the credentials lack the right", "docker login "+server.Host)
}

func TestVerify(t *testing.T) {
	key, public := components.NewKey(t)
	_, other := components.NewKey(t)
	signed := shop(t)
	signed.Key, signed.More = key, nil
	keys := t.TempDir()
	for name, text := range map[string][]byte{"right.pem": public, "other.pem": other, "broken.pem": []byte("no key")} {
		if err := os.WriteFile(filepath.Join(keys, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	verify := func(repository, signature, key string) clitest.Result {
		return run(t, "verify", repository+"//example.com/shop:1.2.0", "--signature", signature, "--public-key", filepath.Join(keys, key))
	}
	for name, repository := range everywhere(t, signed) {
		t.Run(name, func(t *testing.T) {
			want := clitest.Result{Stdout: "signature release of component example.com/shop:1.2.0 is valid\n"}
			if diff := cmp.Diff(want, verify(repository, components.SignatureName, "right.pem")); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			wantFailure(t, verify(repository, components.SignatureName, "other.pem"), "release")
			wantFailure(t, verify(repository, components.SignatureName, "broken.pem"), "key")
			wantFailure(t, verify(repository, "beta", "right.pem"), "beta")
		})
	}
	t.Run("changed below", func(t *testing.T) {
		server := filled(t, signed)
		components.Component{Name: "example.com/base", Version: "0.5.0"}.Push(t, components.Store(t, server, oci.Credential{}))
		wantFailure(t, verify(server.URL, components.SignatureName, "right.pem"), "component example.com/base:0.5.0 was changed")
	})
}

// A registry of others cannot do harm by what it answers.
func TestHostileRegistries(t *testing.T) {
	circle := components.Component{
		Name: "example.com/a", Version: "1.0.0",
		More: []components.Reference{{Name: "b", Component: "example.com/b", Version: "1.0.0"}},
	}
	back := components.Component{
		Name: "example.com/b", Version: "1.0.0",
		More: []components.Reference{{Name: "a", Component: "example.com/a", Version: "1.0.0"}},
	}
	server := filled(t, append(diamonds(30), circle, back, loud())...)
	t.Run("circle", func(t *testing.T) {
		wantFailure(t, run(t, "tree", server.URL+"//example.com/a:1.0.0"), "components refer to each other in a cycle: example.com/a:1.0.0 -> b")
	})
	t.Run("a tree of a billion leaves", func(t *testing.T) {
		got := run(t, "tree", server.URL+"//example.com/daa:1.0.0")
		if lines := strings.Count(got.Stdout, "\n"); got.Code != 0 || lines != 61 {
			t.Errorf("exit code %d, %d lines, %s", got.Code, lines, got.Stderr)
		}
	})
	t.Run("escape sequences", func(t *testing.T) {
		at := server.URL + "//example.com/loud:1.0.0"
		for _, args := range [][]string{{"tree", at}, {"get", at}, {"resolve", at, "cd://resources/none"}} {
			if got := run(t, args...); strings.Contains(got.Stdout+got.Stderr, "\x1b") {
				t.Errorf("%s steers the terminal: %q", args[0], got.Stdout+got.Stderr)
			}
		}
	})
	for name, fault := range map[string]registry.Fault{
		"another content":  registry.On("/blobs/", registry.Wrong),
		"another manifest": registry.On("/manifests/", registry.Wrong),
		"no JSON":          registry.On("/manifests/", text("application/vnd.oci.image.manifest.v1+json", "{{{")),
		"a page":           registry.On("/manifests/", text("text/html", "<html>")),
		"an empty answer":  registry.On("/blobs/", text("application/octet-stream", "")),
		"nothing but 404":  registry.Status(http.StatusNotFound),
	} {
		t.Run(name, func(t *testing.T) {
			server.Break(fault)
			defer server.Break(nil)
			for _, command := range []string{"get", "tree"} {
				wantFailure(t, run(t, command, server.URL+"//example.com/b:1.0.0"), "error: ", "example.com/b")
			}
		})
	}
}

// Content that is not what its digest says does not become a file.
func TestDamagedContentIsNotWritten(t *testing.T) {
	server := filled(t, shop(t))
	at := server.URL + "//example.com/shop:1.2.0"
	for name, fault := range map[string]registry.Fault{"damaged": registry.Wrong, "gone": registry.Status(http.StatusNotFound)} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			server.Break(registry.On(blobOf("do what you like\n"), fault))
			defer server.Break(nil)
			uri := "cd://componentReferences/web/componentReferences/base/resources/licence"
			wantFailure(t, run(t, "resolve", at, uri, "--content", filepath.Join(folder, "licence")), "component example.com/base:0.5.0")
			if left := entries(t, folder); len(left) > 0 {
				t.Errorf("it leaves %q", left)
			}
		})
	}
}

// blobOf is where a registry has a content.
func blobOf(content string) string {
	sum := sha256.Sum256([]byte(content))
	return "/blobs/sha256:" + hex.EncodeToString(sum[:])
}

func text(mediaType, content string) registry.Fault {
	return func(w http.ResponseWriter, _ *http.Request, _ http.Handler) bool {
		w.Header().Set("Content-Type", mediaType)
		_, _ = w.Write([]byte(content))
		return true
	}
}

// diamonds are components each of which refers to the next one twice.
func diamonds(depth int) []components.Component {
	var all []components.Component
	for i := range depth + 1 {
		c := components.Component{Name: "example.com/d" + itoa(i), Version: "1.0.0"}
		if i < depth {
			next := "example.com/d" + itoa(i+1)
			c.More = []components.Reference{{Name: "l", Component: next, Version: "1.0.0"}, {Name: "r", Component: next, Version: "1.0.0"}}
		}
		all = append(all, c)
	}
	return all
}

func itoa(i int) string { return string(rune('a'+i/26)) + string(rune('a'+i%26)) }

func loud() components.Component {
	return components.Component{
		Name: "example.com/loud", Version: "1.0.0",
		Resources: []components.Resource{{Name: "\x1b[2Jgone", Type: "\x1b]0;title\x07", MediaType: "text/plain", Content: []byte("x")}},
	}
}

// Whoever waits for a registry at a terminal is told so, and can give up.
func TestASlowRegistry(t *testing.T) {
	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary)
	server := filled(t, shop(t))
	leftBefore := entries(t, temporary)
	at := server.URL + "//example.com/shop:1.2.0"
	gate := make(chan struct{})
	server.Break(registry.Hold(gate))
	call := clitest.Call{Command: New, Args: []string{"tree", at}, Terminal: &clitest.Terminal{Width: 80, Height: 25}}
	patient := clitest.StartAlone(t, call)
	patient.Until(t, "reading from "+server.URL+" ...\n")
	impatient := clitest.StartAlone(t, call)
	impatient.Until(t, "reading from "+server.URL+" ...\n")
	impatient.Interrupt()
	if got := impatient.Wait(t); got.Code != 130 || !strings.Contains(got.Stderr, "error: interrupted") {
		t.Errorf("given up: %+v", got)
	}
	close(gate)
	if got := patient.Wait(t); got.Code != 0 || got.Stdout != shopTree {
		t.Errorf("waited for: %+v", got)
	}
	if left := entries(t, temporary); !slices.Equal(left, leftBefore) {
		t.Errorf("it leaves %q behind", left)
	}
}

func entries(t *testing.T, directory string) []string {
	t.Helper()
	found, err := os.ReadDir(directory)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, entry := range found {
		names = append(names, entry.Name())
	}
	return names
}
