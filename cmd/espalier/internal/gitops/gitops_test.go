// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package gitops

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"espalier.dev/examples"
	"espalier.dev/internal/giteaserver"
)

func write(t *testing.T, path string, mode os.FileMode) string {
	t.Helper()
	if err := os.WriteFile(path, nil, mode); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestFind(t *testing.T) {
	dir, path := t.TempDir(), t.TempDir()
	named, inVariable := write(t, filepath.Join(dir, "named"), 0o755), write(t, filepath.Join(dir, "variable"), 0o755)
	onPath := write(t, filepath.Join(path, "gitea"), 0o755)
	write(t, filepath.Join(path, "git"), 0o755)
	empty := t.TempDir()
	tests := map[string]struct{ named, variable, path, want, problem string }{
		"a flag":                       {named, inVariable, path, named, ""},
		"a variable":                   {"", inVariable, path, inVariable, ""},
		"the PATH":                     {"", "", path, onPath, ""},
		"nowhere":                      {"", "", empty, "", "no Gitea found: put gitea on the PATH"},
		"no git":                       {named, "", empty, "", "git not found on the PATH"},
		"a flag that leads nowhere":    {filepath.Join(dir, "x"), inVariable, path, "", "--gitea: stat "},
		"a variable that leads astray": {"", dir, path, "", Variable + ": " + dir + " is a directory"},
		"a file that is no program":    {write(t, filepath.Join(dir, "text"), 0o644), "", path, "", "text is not executable"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Setenv(Variable, test.variable)
			t.Setenv("PATH", test.path)
			got, err := Find(test.named)
			if got != test.want || (err == nil) != (test.problem == "") || err != nil && !strings.Contains(err.Error(), test.problem) {
				t.Errorf("got %q, %v", got, err)
			}
		})
	}
}

func TestAGiteaBesideEspalierIsTheLastResort(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	beside := write(t, filepath.Join(filepath.Dir(self), "gitea"), 0o755)
	t.Cleanup(func() { _ = os.Remove(beside) })
	t.Setenv(Variable, "")
	onlyGit, both := t.TempDir(), t.TempDir()
	write(t, filepath.Join(onlyGit, "git"), 0o755)
	write(t, filepath.Join(both, "git"), 0o755)
	onPath := write(t, filepath.Join(both, "gitea"), 0o755)
	for searched, want := range map[string]string{onlyGit: beside, both: onPath} {
		t.Setenv("PATH", searched)
		if got, err := Find(""); got != want || err != nil {
			t.Errorf("with a Gitea beside espalier and the PATH %s: got %q, want %q: %v", searched, got, want, err)
		}
	}
}

// The files of a Gitea are beside the path as given, or else beside what it links to.
func TestStaticFiles(t *testing.T) {
	installed, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	linked := t.TempDir()
	binary, link := write(t, filepath.Join(installed, "gitea"), 0o755), filepath.Join(linked, "gitea")
	if err := os.Symlink(binary, link); err != nil {
		t.Fatal(err)
	}
	expect := func(path, folder string) {
		t.Helper()
		if folder != "" {
			if err := os.MkdirAll(filepath.Join(folder, "templates"), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		if got := staticFiles(path); got != folder {
			t.Errorf("the files of %s are in %q, want %q", path, got, folder)
		}
	}
	expect(link, "")
	expect(binary, filepath.Join(installed, "gitea-static"))
	expect(link, filepath.Join(installed, "gitea-static"))
	expect(link, filepath.Join(linked, "gitea-static"))
}

// Only the owner may read a state, and errors do not quote a damaged one.
func TestState(t *testing.T) {
	dir := t.TempDir()
	first, err := readState(dir)
	if err != nil || first.isComplete() || len(first.SecretKey) < 40 || first.SecretKey == first.InternalToken {
		t.Fatalf("begins with %+v, %v", first, err)
	}
	first.Port, first.Password, first.Token = 3000, "p", "t"
	if err := first.save(dir); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(filepath.Join(dir, stateFile))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("it has mode %v: %v", info.Mode(), err)
	}
	if again, err := readState(dir); err != nil || again != first || !again.isComplete() {
		t.Errorf("reads %+v, %v", again, err)
	}
	for _, damaged := range []string{"", "{", `{"port": 3000, "secretKey": "hidden"}`, `{"port": "hidden"}`} {
		if err := os.WriteFile(filepath.Join(dir, stateFile), []byte(damaged), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := readState(dir); err == nil || !strings.Contains(err.Error(), "is damaged") || strings.Contains(err.Error(), "hidden") {
			t.Errorf("%q: %v", damaged, err)
		}
	}
}

// What lies in the folder without a state is not ours.
func TestForeignDataStays(t *testing.T) {
	dataDir := t.TempDir()
	dir := Dir(dataDir)
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, unfinishedFile), 0o600)
	if _, err := readState(dir); err != nil {
		t.Errorf("with a state that was never finished: %v", err)
	}
	foreign := write(t, filepath.Join(dir, "gitea.db"), 0o600)
	want := dir + " is not empty and has no espalier.json: restore that file, or remove " + dir + " to start with a new Gitea"
	if _, err := Start(t.Context(), "/nowhere/gitea", dataDir); err == nil || err.Error() != want {
		t.Errorf("it ends with %v", err)
	}
	if _, err := os.Stat(foreign); err != nil {
		t.Error(err)
	}
}

// The port of a Gitea that does not run is taken, and nobody is listened to.
func TestHold(t *testing.T) {
	dataDir := t.TempDir()
	if held, err := Hold(dataDir); held != nil || err != nil {
		t.Fatalf("without a Gitea it holds %v: %v", held, err)
	}
	stranger, err := listenAt(0)
	if err != nil {
		t.Fatal(err)
	}
	kept := newState()
	kept.Port = stranger.Addr().(*net.TCPAddr).Port
	if err := errors.Join(os.Mkdir(Dir(dataDir), 0o700), kept.save(Dir(dataDir))); err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf("port %d is in use by another program, which may receive the token of the example gitops", kept.Port)
	if held, err := Hold(dataDir); held != nil || err == nil || err.Error() != want {
		t.Fatalf("beside a stranger it holds %v: %v", held, err)
	}
	if err := stranger.Close(); err != nil {
		t.Fatal(err)
	}
	held, err := Hold(dataDir)
	if err != nil {
		t.Fatal(err)
	}
	if stranger, err := listenAt(kept.Port); err == nil {
		_ = stranger.Close()
		t.Error("another program can listen on the port")
	}
	for range 2 {
		if response, err := newClient().Get(fmt.Sprintf("http://127.0.0.1:%d", kept.Port)); err == nil {
			_ = response.Body.Close()
			t.Errorf("it answers with %s", response.Status)
		}
	}
	if err := held.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := listenAt(kept.Port)
	if err != nil {
		t.Fatalf("the port stays in use: %v", err)
	}
	_ = again.Close()

	write(t, filepath.Join(Dir(dataDir), stateFile), 0o600)
	if held, err := Hold(dataDir); held != nil || err == nil || !strings.Contains(err.Error(), "is damaged") {
		t.Errorf("with a damaged state it holds %v: %v", held, err)
	}
}

// The objects of the example point to this Gitea, whatever its address, and only the Secrets contain its credentials.
func TestFill(t *testing.T) {
	objects, err := examples.Read(examples.GitOps)
	if err != nil {
		t.Fatal(err)
	}
	other := secretOf("other", map[string]any{"key": "value"})
	running().Fill(append(objects, other))
	if got := secretValue([]*unstructured.Unstructured{other}, "other", "key"); got != "value" {
		t.Errorf("another Secret has the value %q now", got)
	}
	addresses := 0
	for _, object := range objects {
		text, err := object.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		addresses += strings.Count(string(text), "http://127.0.0.1:4711")
		if strings.Contains(string(text), ":3000") {
			t.Errorf("%s %s names another address", object.GetKind(), object.GetName())
		}
		if object.GetKind() != "Secret" && strings.Contains(string(text), "the-") {
			t.Errorf("%s %s holds a credential", object.GetKind(), object.GetName())
		}
	}
	if addresses != 3 {
		t.Errorf("there are %d addresses, want those of the pipeline, the installation and the Secret for people", addresses)
	}
	for secret, want := range map[string]map[string]string{
		"git":   {"token": "the-token", "username": "espalier", "password": "the-token"},
		"gitea": {"url": "http://127.0.0.1:4711", "username": "espalier", "password": "the-password"},
	} {
		for key, value := range want {
			if got := secretValue(objects, secret, key); got != value {
				t.Errorf("%s of Secret %s is %q", key, secret, got)
			}
		}
	}
}

// running returns a Gitea as if it ran.
func running() *Server {
	return &Server{
		gitea: &giteaserver.Server{Settings: giteaserver.Settings{Port: 4711}},
		state: state{Port: 4711, Password: "the-password", Token: "the-token"},
	}
}

func secretOf(name string, values map[string]any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": name}, "stringData": values,
	}}
}

// What earlier starts have created follows Gitea to another port, unless the user has chosen another repository.
func TestRenewal(t *testing.T) {
	with := func(kind, url string, path ...string) *unstructured.Unstructured {
		object := &unstructured.Unstructured{Object: map[string]any{"kind": kind, "metadata": map[string]any{"name": "web"}}}
		if err := unstructured.SetNestedField(object.Object, url, path...); err != nil {
			t.Fatal(err)
		}
		return object
	}
	pipeline := func(url string) *unstructured.Unstructured {
		return with("Pipeline", url, "spec", "promotion", "strategy", "pull-request", "url")
	}
	installation := func(url string) *unstructured.Unstructured {
		return with("Installation", url, "spec", "blueprint", "git", "url")
	}
	const ours = `"http://127.0.0.1:4711/espalier/web"`
	tests := map[string]struct {
		existing *unstructured.Unstructured
		want     string // as JSON
	}{
		"a pipeline of another Gitea": {
			pipeline("http://127.0.0.1:3000/espalier/web"), `{"spec":{"promotion":{"strategy":{"pull-request":{"url":` + ours + `}}}}}`,
		},
		"an installation of another Gitea": {
			installation("http://127.0.0.1:3000/espalier/web"), `{"spec":{"blueprint":{"git":{"url":` + ours + `}}}}`,
		},
		"the token":                    {secretOf("git", nil), `{"stringData":{"password":"the-token","token":"the-token","username":"espalier"}}`},
		"a pipeline of this Gitea":     {pipeline("http://127.0.0.1:4711/espalier/web"), "null"},
		"a pipeline of another server": {pipeline("https://git.example.org/espalier/web"), "null"},
		"another repository":           {installation("http://127.0.0.1:3000/espalier/mine"), "null"},
		"an installation without Git":  {with("Installation", "x", "spec", "blueprint", "ref"), "null"},
		"another Secret":               {secretOf("other", nil), "null"},
		"another kind":                 {with("ConfigMap", "http://127.0.0.1:3000/espalier/web", "data", "url"), "null"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := json.Marshal(running().Renewal(test.existing))
			if err != nil || string(got) != test.want {
				t.Errorf("got %s, want %s: %v", got, test.want, err)
			}
		})
	}
	objects, err := examples.Read(examples.GitOps)
	if err != nil {
		t.Fatal(err)
	}
	renewed := 0
	for _, object := range objects {
		if running().Renewal(object) != nil {
			renewed++
		}
	}
	if renewed != 4 {
		t.Errorf("%d objects are renewed, want the pipeline, the installation and two Secrets", renewed)
	}
}

func secretValue(objects []*unstructured.Unstructured, name, key string) string {
	for _, object := range objects {
		if object.GetKind() == "Secret" && object.GetName() == name {
			value, _, _ := unstructured.NestedString(object.Object, "stringData", key)
			return value
		}
	}
	return ""
}
