// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package program

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// checkout returns a small project of the same layout: a root module, a nested one with a program, and a package that it uses.
func checkout(t *testing.T) *builder {
	t.Helper()
	root := t.TempDir()
	files := map[string]string{
		"go.mod":                     "module espalier.dev\n\ngo 1.26\n",
		"greeting/greeting.go":       "package greeting\n\nimport _ \"embed\"\n\n//go:embed text/hello.txt\nvar Text string\n",
		"greeting/text/hello.txt":    "hello",
		"greeting/greeting_test.go":  "package greeting\n",
		"unrelated/unrelated.go":     "package unrelated\n",
		"cmd/tool/go.mod":            "module espalier.dev/cmd/tool\n\ngo 1.26\n\nrequire espalier.dev v0.0.0\n\nreplace espalier.dev => ../..\n",
		"cmd/tool/server/main.go":    "package main\n\nimport \"espalier.dev/greeting\"\n\nfunc main() { print(greeting.Text) }\n",
		"cmd/tool/other/other.go":    "package other\n",
		"cmd/tool/server/readme.txt": "not in the binary, but it might be",
	}
	for name, content := range files {
		write(t, filepath.Join(root, name), content)
	}
	return &builder{
		Program: Program{Name: "tool", Title: "the tool", module: "cmd/tool", pkg: "./server"},
		root:    root, cache: filepath.Join(root, ".cache"), progress: new(bytes.Buffer), patience: time.Hour,
	}
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func ensure(t *testing.T, b *builder) string {
	t.Helper()
	path, err := b.ensure(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func says(t *testing.T, path string) string {
	t.Helper()
	output, err := exec.CommandContext(t.Context(), path).CombinedOutput()
	if err != nil {
		t.Fatal(err)
	}
	return string(output)
}

func TestAWarmStartNeedsNoGoCommand(t *testing.T) {
	b := checkout(t)
	first := ensure(t, b)
	if says(t, first) != "hello" {
		t.Errorf("the program says %q", says(t, first))
	}
	t.Setenv("PATH", "")
	if again := ensure(t, b); again != first {
		t.Errorf("found %s, then %s", first, again)
	}
}

func TestARebuildFollowsTheSources(t *testing.T) {
	cases := map[string]struct {
		file, content string
		rebuilds      bool
	}{
		"a source of the program":    {"cmd/tool/server/main.go", "package main\n\nfunc main() { print(\"new\") }\n", true},
		"a source of another module": {"greeting/greeting.go", "package greeting\n\nvar Text = \"new\"\n", true},
		"an embedded file":           {"greeting/text/hello.txt", "new", true},
		"a new file":                 {"greeting/init.go", "package greeting\n\nfunc init() { Text = \"new\" }\n", true},
		"the module file": {
			"cmd/tool/go.mod",
			"module espalier.dev/cmd/tool\n\ngo 1.26.0\n\nrequire espalier.dev v0.0.0\n\nreplace espalier.dev => ../..\n",
			true,
		},
		"a test":               {"greeting/greeting_test.go", "package greeting\n\nvar x int\n", false},
		"an unrelated package": {"unrelated/unrelated.go", "package unrelated\n\nvar x int\n", false},
		"another package":      {"cmd/tool/other/other.go", "package other\n\nvar x int\n", false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			b := checkout(t)
			before := ensure(t, b)
			write(t, filepath.Join(b.root, c.file), c.content)
			after := ensure(t, b)
			if (before != after) != c.rebuilds {
				t.Errorf("rebuilt: %v, want %v", before != after, c.rebuilds)
			}
			if c.rebuilds && strings.Contains(c.content, "new") && says(t, after) != "new" {
				t.Errorf("the program says %q", says(t, after))
			}
		})
	}
}

func TestALostBinaryIsRebuilt(t *testing.T) {
	b := checkout(t)
	path := ensure(t, b)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if again := ensure(t, b); says(t, again) != "hello" {
		t.Errorf("the program says %q", says(t, again))
	}
	write(t, b.stampPath(), "{damaged")
	if again := ensure(t, b); says(t, again) != "hello" {
		t.Errorf("with a damaged stamp the program says %q", says(t, again))
	}
}

func TestABrokenSourceIsReported(t *testing.T) {
	b := checkout(t)
	write(t, filepath.Join(b.root, "cmd/tool/server/main.go"), "package main\n\nfunc main() { undefinedThing() }\n")
	if _, err := b.ensure(t.Context()); err == nil || !strings.Contains(err.Error(), "undefinedThing") {
		t.Errorf("says %v", err)
	}
	if _, fresh := b.fresh(); fresh {
		t.Error("it left something that looks finished")
	}
}

func TestConcurrentBuildsAgree(t *testing.T) {
	b := checkout(t)
	const builders = 6
	paths := make([]string, builders)
	var running sync.WaitGroup
	for i := range builders {
		running.Go(func() {
			path, err := b.ensure(t.Context())
			if err != nil {
				t.Error(err)
				return
			}
			paths[i] = path
			if output, err := exec.CommandContext(t.Context(), path).CombinedOutput(); err != nil || string(output) != "hello" {
				t.Errorf("the program says %q, %v", output, err)
			}
		})
	}
	running.Wait()
	for _, path := range paths {
		if path != paths[0] {
			t.Errorf("paths %q", paths)
		}
	}
}

// announcement is closed at the first write to it.
type announcement chan struct{}

func (a announcement) Write(p []byte) (int, error) {
	close(a)
	return len(p), nil
}

// A process that has waited for another's build takes its result and does not build again.
func TestAWaitingBuilderTakesWhatItFinds(t *testing.T) {
	b := checkout(t)
	if err := os.MkdirAll(b.cache, 0o755); err != nil {
		t.Fatal(err)
	}
	unlock, err := lock(b.lockPath())
	if err != nil {
		t.Fatal(err)
	}
	waiting, waits := *b, make(chan struct{})
	waiting.progress = announcement(waits)
	waiting.patience = time.Millisecond
	found := make(chan error)
	go func() {
		_, err := waiting.ensure(t.Context())
		found <- err
	}()
	<-waits
	if _, err := b.build(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", "")
	unlock()
	if err := <-found; err != nil {
		t.Error(err)
	}
}

func TestOldBinariesAreRemoved(t *testing.T) {
	b := checkout(t)
	var newest string
	for _, text := range []string{"a", "b", "c", "d", "e"} {
		write(t, filepath.Join(b.root, "greeting/text/hello.txt"), text)
		newest = ensure(t, b)
	}
	left, err := filepath.Glob(b.binaryPath("*"))
	if err != nil || len(left) != keptBinaries {
		t.Errorf("left %q, %v; want %d", left, err, keptBinaries)
	}
	if says(t, newest) != "e" {
		t.Errorf("the newest says %q", says(t, newest))
	}
}

func TestALongBuildReportsProgress(t *testing.T) {
	b := checkout(t)
	var progress bytes.Buffer
	b.progress, b.patience = &progress, time.Nanosecond
	ensure(t, b)
	if !strings.Contains(progress.String(), "building the tool") {
		t.Errorf("said %q", progress.String())
	}
}

func TestAProgramKnowsItsVersion(t *testing.T) {
	b := checkout(t)
	write(t, filepath.Join(b.root, "cmd/tool/server/main.go"), "package main\n\nvar version string\n\nfunc main() { print(version) }\n")
	write(
		t,
		filepath.Join(b.root, "cmd/tool/go.mod"),
		"module espalier.dev/cmd/tool\n\ngo 1.26\n\nrequire (\n\texample.org/other v1.0.0\n\texample.org/tool v1.2.3 // indirect\n)\n",
	)
	b.version, b.versionOf = "main.version", "example.org/tool"
	if said := says(t, ensure(t, b)); said != "1.2.3" {
		t.Errorf("it says %q", said)
	}
	b.versionOf = "example.org/unknown"
	write(t, filepath.Join(b.root, "cmd/tool/server/new.go"), "package main\n")
	if _, err := b.ensure(t.Context()); err == nil || !strings.Contains(err.Error(), "example.org/unknown") {
		t.Errorf("without a version: %v", err)
	}
}

func TestRootIsFoundFromNestedModules(t *testing.T) {
	b := checkout(t)
	for _, dir := range []string{"", "greeting/text", "cmd/tool/server"} {
		root, err := findRoot(filepath.Join(b.root, dir))
		if err != nil || root != b.root {
			t.Errorf("from %q found %q, %v", dir, root, err)
		}
	}
	if root, err := findRoot(t.TempDir()); err == nil || !strings.Contains(err.Error(), "checkout") {
		t.Errorf("outside a checkout found %q, %v", root, err)
	}
}

func TestAGivenBinaryIsTaken(t *testing.T) {
	t.Setenv("ESPALIER_TEST_HELM_CONTROLLER", "/somewhere/else")
	if path, err := HelmController.Binary(t.Context(), new(bytes.Buffer)); err != nil || path != "/somewhere/else" {
		t.Errorf("took %q, %v", path, err)
	}
}

func TestOutsideACheckoutTheWayOutIsNamed(t *testing.T) {
	t.Chdir(t.TempDir())
	if path, err := Gitea.Binary(t.Context(), new(bytes.Buffer)); err == nil || !strings.Contains(err.Error(), "or set ESPALIER_TEST_GITEA") {
		t.Errorf("took %q, %v", path, err)
	}
}
