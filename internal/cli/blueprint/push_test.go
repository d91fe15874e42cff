// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package blueprint

import (
	"archive/tar"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"espalier.dev/internal/component/repository"
	"espalier.dev/internal/oci"
	"espalier.dev/internal/testkit/clitest"
	"espalier.dev/internal/testkit/components"
	"espalier.dev/internal/testkit/registry"
)

const (
	username = "writer"
	password = "open-sesame-42"
)

// run runs a command below blueprint, for somebody without a home.
func run(t testing.TB, args ...string) clitest.Result {
	t.Helper()
	return clitest.RunAlone(t, clitest.Call{Command: New, Args: args})
}

// original is a blueprint with files of all sorts.
func original() map[string]string {
	return map[string]string{
		"blueprint.yaml":       "imports: [{name: a, schema: {type: string}}]\ndeployExecutions: [{name: d, type: GoTemplate, file: /deploy/items.yaml}]\n",
		"deploy/items.yaml":    "deployItems: [] # {{ .imports.a }}\n",
		"deploy/deep/er/x.bin": "\x00\x01\xff\r\n",
		"empty":                "",
		".hidden":              "no end of line",
		"with blank é.txt":     "x\n",
	}
}

// directory writes files into a new directory.
func directory(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "blueprint")
	for name, content := range files {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// contents reads all files below a directory.
func contents(t testing.TB, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(filepath.Join(dir, name))
		files[name] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// entries are the names in a directory.
func entries(t testing.TB, dir string) []string {
	t.Helper()
	found, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	names := []string{}
	for _, entry := range found {
		names = append(names, entry.Name())
	}
	return names
}

// pushed pushes a directory and returns what is printed.
func pushed(t testing.TB, dir, reference string) string {
	t.Helper()
	got := run(t, "push", dir, reference)
	printed := strings.TrimSuffix(got.Stdout, "\n")
	if got.Code != 0 || got.Stderr != "" || !strings.HasPrefix(printed, reference+"@sha256:") {
		t.Fatalf("push %s: %+v", reference, got)
	}
	return printed
}

func wantFailure(t testing.TB, got clitest.Result, texts ...string) {
	t.Helper()
	if got.Code != 1 || got.Stdout != "" {
		t.Errorf("exit code %d, standard output %q", got.Code, got.Stdout)
	}
	for _, text := range texts {
		if !strings.Contains(got.Stderr, text) {
			t.Errorf("it does not say %q:\n%s", text, got.Stderr)
		}
	}
	if strings.Contains(got.Stderr, password) {
		t.Errorf("it gives a password away: %s", got.Stderr)
	}
}

// What is pulled is what was pushed, byte for byte, and the same files have the same digest wherever they are.
func TestPushAndPull(t *testing.T) {
	server := registry.Start(t, registry.Options{})
	t.Chdir(t.TempDir())
	source := directory(t, original())
	digests := map[string]bool{}
	for name, reference := range map[string]string{
		"registry":  server.URL + "/team/shop:1.0.0",
		"directory": "./archive//team/shop:1.0.0",
		"tar":       "archive.tar//team/shop:1.0.0",
		"tgz":       "archive.tgz//team/shop:1.0.0",
		"tar.gz":    filepath.Join(t.TempDir(), "archive.tar.gz") + "//team/shop:1.0.0",
	} {
		t.Run(name, func(t *testing.T) {
			printed := pushed(t, source, reference)
			if again := pushed(t, source, reference); again != printed {
				t.Errorf("pushed again, it is %s and not %s", again, printed)
			}
			digests[printed[strings.Index(printed, "@"):]] = true
			for _, from := range []string{reference, printed} {
				parent := t.TempDir()
				target := filepath.Join(parent, "pulled")
				if diff := cmp.Diff(clitest.Result{Stdout: printed + "\n"}, run(t, "pull", from, target)); diff != "" {
					t.Fatalf("pull %s (-want +got):\n%s", from, diff)
				}
				if diff := cmp.Diff(original(), contents(t, target)); diff != "" {
					t.Errorf("pull %s (-want +got):\n%s", from, diff)
				}
				if diff := cmp.Diff([]string{"pulled"}, entries(t, parent)); diff != "" {
					t.Errorf("beside it (-want +got):\n%s", diff)
				}
			}
			checkOthersStay(t, strings.TrimSuffix(reference, "1.0.0"), printed)
		})
	}
	if len(digests) != 1 {
		t.Errorf("the digests differ: %v", digests)
	}
}

// checkOthersStay moves a tag and adds another one. What was there before is still there by its digest.
func checkOthersStay(t *testing.T, prefix, first string) {
	t.Helper()
	other := map[string]string{"blueprint.yaml": "deployExecutions: []\n"}
	changed := directory(t, other)
	pushed(t, changed, prefix+"2.0.0")
	moved := pushed(t, changed, prefix+"1.0.0")
	for reference, want := range map[string]map[string]string{
		prefix + "1.0.0": other, prefix + "2.0.0": other, moved: other, first: original(),
	} {
		target := filepath.Join(t.TempDir(), "pulled")
		if got := run(t, "pull", reference, target); got.Code != 0 {
			t.Fatalf("pull %s: %+v", reference, got)
		}
		if diff := cmp.Diff(want, contents(t, target)); diff != "" {
			t.Errorf("pull %s (-want +got):\n%s", reference, diff)
		}
	}
}

// An archive keeps its form and what is in it, also through a link.
func TestPushExtendsAnArchiveOfComponents(t *testing.T) {
	source := directory(t, original())
	for _, name := range []string{"directory", "archive.tar", "archive.tgz", "packed.tar", "link"} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), name)
			of := components.Component{Name: "example.com/shop", Version: "1.2.0"}
			switch name {
			case "packed.tar": // its name says otherwise
				components.Archive(t, file+".tgz", of)
				if err := os.Rename(file+".tgz", file); err != nil {
					t.Fatal(err)
				}
			case "link":
				behind := filepath.Join(t.TempDir(), "archive.tgz")
				components.Archive(t, behind, of)
				if err := os.Symlink(behind, file); err != nil {
					t.Fatal(err)
				}
			default:
				components.Archive(t, file, of)
			}
			before, err := os.Lstat(file)
			if err != nil {
				t.Fatal(err)
			}
			pushed(t, source, file+"//team/shop:1.0.0")
			after, err := os.Lstat(file)
			if err != nil || before.Mode().Type() != after.Mode().Type() {
				t.Errorf("it was %s and is %s, %v", before.Mode(), after.Mode(), err)
			}
			store, err := oci.OpenArchive(os.DirFS(filepath.Dir(resolved(t, file))), filepath.Base(resolved(t, file)))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := store.Manifest(t.Context(), "component-descriptors/example.com/shop", "1.2.0"); err != nil {
				t.Errorf("the component is gone: %v", err)
			}
			if diff := cmp.Diff([]string{name}, entries(t, filepath.Dir(file))); diff != "" {
				t.Errorf("beside it (-want +got):\n%s", diff)
			}
		})
	}
}

func resolved(t *testing.T, file string) string {
	t.Helper()
	behind, err := filepath.EvalSymlinks(file)
	if err != nil {
		t.Fatal(err)
	}
	return behind
}

func TestAnUnsoundBlueprintIsNotPushed(t *testing.T) {
	server := registry.Start(t, registry.Options{})
	reference := server.URL + "/team/shop:1.0.0"
	for name, test := range map[string]struct {
		files map[string]string
		want  string
	}{
		"errors":       {map[string]string{"blueprint.yaml": wrong}, `error: imports[1].name: "a" is already used by imports[0]`},
		"no blueprint": {map[string]string{"README": "x"}, `error: there is no file "blueprint.yaml"`},
	} {
		t.Run(name, func(t *testing.T) {
			wantFailure(t, run(t, "push", directory(t, test.files), reference), test.want, "error: the blueprint has errors and was not pushed")
			file := filepath.Join(t.TempDir(), "archive.tgz")
			wantFailure(t, run(t, "push", directory(t, test.files), file+"//team/shop:1.0.0"), test.want)
			if left := entries(t, filepath.Dir(file)); len(left) > 0 {
				t.Errorf("it leaves %q", left)
			}
		})
	}
	if requests := server.Requests(); len(requests) > 0 {
		t.Errorf("the registry was asked: %q", requests)
	}
	t.Run("warnings", func(t *testing.T) {
		got := run(t, "push", directory(t, map[string]string{"blueprint.yaml": odd}), reference)
		if got.Code != 0 || !strings.Contains(got.Stderr, `warning: unknown field "title"`) || !strings.HasPrefix(got.Stdout, reference+"@sha256:") {
			t.Errorf("%+v", got)
		}
	})
}

func TestWrongArgumentsOfPushAndPull(t *testing.T) {
	server := registry.Start(t, registry.Options{})
	source := directory(t, original())
	t.Chdir(t.TempDir())
	for name, content := range map[string]string{"notes.txt": "no archive", "broken.tgz": "\x1f\x8b broken", "full/file": "x"} {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	components.Archive(t, "archive.tgz", components.Component{Name: "example.com/shop", Version: "1.2.0"})
	before := contents(t, ".")
	for name, test := range map[string]struct {
		args []string
		want string
	}{
		"no reference":        {[]string{"push", source}, "accepts 2 arg(s)"},
		"no directory":        {[]string{"push", "nowhere", server.URL + "/team/shop:1"}, "read the blueprint: open nowhere"},
		"a file":              {[]string{"push", "notes.txt", server.URL + "/team/shop:1"}, "notes.txt"},
		"no tag":              {[]string{"push", source, "r.example.com/team/shop"}, "r.example.com/team/shop: to push, a reference needs a tag and no digest"},
		"a digest":            {[]string{"push", source, "r.example.com/team/shop:1@sha256:" + strings.Repeat("a", 64)}, "needs a tag and no digest"},
		"upper case":          {[]string{"push", source, "r.example.com/Team/shop:1"}, "in lower case but for the host"},
		"two slashes":         {[]string{"push", source, server.URL + "//team/shop:1"}, "// separates an archive from the artifact in it"},
		"nothing before":      {[]string{"push", source, "//team/shop:1"}, "write ARCHIVE//REPOSITORY:TAG"},
		"an archive alone":    {[]string{"push", source, "./archive.tgz"}, "write ARCHIVE//REPOSITORY:TAG"},
		"a registry, or not":  {[]string{"push", source, "r.example.com//team/shop:1"}, "there is no archive r.example.com: a new one ends with .tar or .tgz, or begins with ./"},
		"no archive":          {[]string{"push", source, "notes.txt//team/shop:1"}, "neither a directory nor a tar archive"},
		"a broken archive":    {[]string{"push", source, "broken.tgz//team/shop:1"}, "neither a directory nor a tar archive"},
		"another directory":   {[]string{"push", source, "./full//team/shop:1"}, "file artifact-index.json is missing"},
		"no such place":       {[]string{"push", source, "./none/archive.tgz//team/shop:1"}, "none"},
		"a password":          {[]string{"push", source, "https://me:" + password + "@r.example.com/team/shop:1"}, "https://<masked>@r.example.com/team/shop:1: an address has no user and password"},
		"not empty":           {[]string{"pull", server.URL + "/team/shop:1", "full"}, "full is not empty: name an empty directory, or one that does not exist"},
		"onto a file":         {[]string{"pull", server.URL + "/team/shop:1", "notes.txt"}, "notes.txt is a file"},
		"here":                {[]string{"pull", server.URL + "/team/shop:1", "."}, "is the current directory"},
		"no parent":           {[]string{"pull", server.URL + "/team/shop:1", "none/x"}, "none/x: the parent directory does not exist: create it"},
		"nothing there":       {[]string{"pull", server.URL + "/team/shop:1", "x"}, "not found: check name and version, or push it"},
		"nothing in archive":  {[]string{"pull", "archive.tgz//team/shop:1", "x"}, "not in the archive"},
		"no such archive":     {[]string{"pull", "none.tgz//team/shop:1", "x"}, "there is no archive none.tgz"},
		"a component instead": {[]string{"pull", "archive.tgz//component-descriptors/example.com/shop:1.2.0", "x"}, "the artifact is not a blueprint"},
		"pull with password":  {[]string{"pull", "me:" + password + "@r.example.com/team/shop:1", "x"}, "<masked>@r.example.com/team/shop:1: an address has no user and password"},
	} {
		t.Run(name, func(t *testing.T) { wantFailure(t, run(t, test.args...), test.want) })
	}
	if diff := cmp.Diff(before, contents(t, ".")); diff != "" {
		t.Errorf("something has changed (-want +got):\n%s", diff)
	}
}

func TestPullIntoAnEmptyDirectory(t *testing.T) {
	file := filepath.Join(t.TempDir(), "archive.tgz") + "//team/shop:1.0.0"
	pushed(t, directory(t, original()), file)
	target, link := t.TempDir(), filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(target, link); err != nil {
		t.Fatal(err)
	}
	if got := run(t, "pull", file, link); got.Code != 0 {
		t.Fatalf("%+v", got)
	}
	if diff := cmp.Diff(original(), contents(t, target)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode().Type() != fs.ModeSymlink {
		t.Errorf("the link is %v, %v", info, err)
	}
}

// Wherever a registry breaks off, there is no half of a blueprint, neither here nor there.
func TestAFailingRegistryLeavesNothing(t *testing.T) {
	server := registry.Start(t, registry.Options{})
	reference := server.URL + "/team/shop:1.0.0"
	source := directory(t, original())
	for repository, fault := range map[string]registry.Fault{
		"/no/uploads:1":   registry.On("POST ", registry.Status(http.StatusForbidden)),
		"/no/manifests:1": registry.On("PUT /v2/no/manifests/manifests/", registry.Status(http.StatusBadRequest)),
	} {
		server.Break(fault)
		wantFailure(t, run(t, "push", source, server.URL+repository), "push the blueprint: ")
		server.Break(nil)
		wantFailure(t, run(t, "pull", server.URL+repository, filepath.Join(t.TempDir(), "x")), "not found")
	}
	pushed(t, source, reference)
	for name, fault := range map[string]registry.Fault{
		"another content":  registry.On("/blobs/", registry.Wrong),
		"another manifest": registry.On("/manifests/", registry.Wrong),
		"no blobs":         registry.On("/blobs/", registry.Status(http.StatusNotFound)),
	} {
		t.Run(name, func(t *testing.T) {
			server.Break(fault)
			defer server.Break(nil)
			parent := t.TempDir()
			wantFailure(t, run(t, "pull", reference, filepath.Join(parent, "x")), "blueprint: ")
			if left := entries(t, parent); len(left) > 0 {
				t.Errorf("it leaves %q", left)
			}
		})
	}
}

// An archive of others cannot reach out of the directory.
func TestHostileArtifacts(t *testing.T) {
	server := registry.Start(t, registry.Options{})
	store := components.Store(t, server, oci.Credential{})
	for name, file := range map[string]string{"a way out": "../evil", "a deep way out": "a/../../evil"} {
		t.Run(name, func(t *testing.T) {
			put(t, store, tarOf(t, file))
			parent := t.TempDir()
			wantFailure(t, run(t, "pull", server.URL+"/team/evil:1", filepath.Join(parent, "x")), "leads out of its directory")
			if left := entries(t, parent); len(left) > 0 {
				t.Errorf("it leaves %q", left)
			}
		})
	}
}

func TestCredentialsOfPush(t *testing.T) {
	server := registry.Start(t, registry.Options{Username: username, Password: password})
	source := directory(t, original())
	config := filepath.Join(t.TempDir(), "config.json")
	auth := base64.StdEncoding.EncodeToString([]byte(username + ":" + password))
	if err := os.WriteFile(config, fmt.Appendf(nil, `{"auths": {%q: {"auth": %q}}}`, server.Host, auth), 0o600); err != nil {
		t.Fatal(err)
	}
	reference := server.URL + "/team/shop:1.0.0"
	wantFailure(t, run(t, "push", source, reference), "rejects the credentials", "docker login "+server.Host, "--registry-config")
	if got := run(t, "push", source, reference, "--registry-config", config); got.Code != 0 {
		t.Fatalf("%+v", got)
	}
	wantFailure(t, run(t, "pull", reference, filepath.Join(t.TempDir(), "x")), "rejects the credentials", "docker login "+server.Host)
	if got := run(t, "pull", reference, filepath.Join(t.TempDir(), "x"), "--registry-config", config); got.Code != 0 {
		t.Errorf("%+v", got)
	}
}

// What could be stored, but never be read again, is refused.
func TestABlueprintThatNobodyCouldRead(t *testing.T) {
	server := registry.Start(t, registry.Options{})
	files := original()
	files["blanks"] = strings.Repeat(" ", 3<<20)
	wantFailure(t, run(t, "push", directory(t, files), server.URL+"/team/shop:1"), "the blueprint would not be readable: ", "times as large as its packed form")
}

// tarOf is an archive with a file of any name.
func tarOf(t *testing.T, name string) []byte {
	t.Helper()
	var text bytes.Buffer
	w := tar.NewWriter(&text)
	if err := w.WriteHeader(&tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o644, Size: 1}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return text.Bytes()
}

// put stores an archive as if it were a blueprint.
func put(t *testing.T, store oci.Store, layer []byte) {
	t.Helper()
	config, err := store.PushBlob(t.Context(), "team/evil", repository.MediaTypeBlueprintConfig, []byte("{}"))
	if err != nil {
		t.Fatal(err)
	}
	described, err := store.PushBlob(t.Context(), "team/evil", repository.MediaTypeBlueprintLayer, layer)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(map[string]any{
		"schemaVersion": 2, "mediaType": oci.MediaTypeManifest, "config": config, "layers": []oci.Descriptor{described},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := store.PushManifest(t.Context(), "team/evil", "1", oci.NewManifest(oci.MediaTypeManifest, text)); err != nil {
		t.Fatal(err)
	}
}
