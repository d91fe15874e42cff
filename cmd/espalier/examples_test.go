// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"espalier.dev/examples"
)

// shownCommands matches the blocks of a page that its reader runs.
var shownCommands = regexp.MustCompile("(?s)\n<!-- run -->\n```sh\n(.*?)\n```\n")

// fact is something that kubectl prints in the given output format.
type fact struct {
	namespace, object, path, want string
}

// outcomes lists, for each example, some of what its commands print and what holds at the end.
var outcomes = map[string]struct {
	printed []string
	facts   []fact
}{
	"hello": {
		[]string{"Hello, world!", "Hello, reader!"},
		[]fact{{"hello", "configmap/greeting", "{.data.text}", "Hello, reader!"}},
	},
	"shop": {
		[]string{"Failed", "sender", "shop(at)example.com", "Succeeded"},
		[]fact{
			{"market-frontend", "configmap/mail", "{.data.sender}", "shop@example.com"},
			{"market-frontend", "configmap/web", "{.data.version}", "1.0.0"},
			{"market-backend", "service/database", "{.spec.ports[0].port}", "5432"},
		},
	},
	"chart": {
		[]string{"Hello from a chart", "Hello again"},
		[]fact{
			{"page", "configmap/page", `{.data.index\.html}`, "<h1>Hello again</h1>\n"},
			{"page", "secret/sh.helm.release.v1.page.v2", "{.metadata.labels.status}", "deployed"},
		},
	},
	"gitops": {
		[]string{"WaitingForMerge", "/espalier/web/pulls/1", "/espalier/web/pulls/2", "1.1.0"},
		[]fact{
			{"gitops-production", "configmap/web", "{.data.version}", "1.1.0"},
			{"gitops-staging", "configmap/web", "{.data.version}", "1.1.0"},
		},
	},
	"promotion": {
		[]string{"WaitingForApproval", "1.1.0"},
		[]fact{
			{"shop-production", "configmap/shop", "{.data.version}", "1.1.0"},
			{"shop-staging", "configmap/shop", "{.data.version}", "1.1.0"},
		},
	},
}

// The commands of each README work unchanged, one after the other, with the result that it promises. All examples share a control plane.
// The one that needs Gitea has its own test.
func TestExamplesDoWhatTheirReadmesSay(t *testing.T) {
	u := newUser(t)
	names := slices.DeleteFunc(examples.Names(), func(name string) bool { return name == examples.GitOps })
	var args []string
	for _, name := range names {
		args = append(args, "--example", name)
	}
	i := u.up(t, append(args, "--ui-addr", "")...)
	t.Cleanup(func() { _ = i.cmd.Process.Kill() })
	t.Run("each", func(t *testing.T) {
		for _, name := range names {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				u.follow(t, name)
			})
		}
	})
	get := func(object, namespace, path string) string {
		return u.mustRun(t, "kubectl", "get", object, "-n", namespace, "-o", "jsonpath="+path)
	}
	t.Run("data flows between the parts of the shop", func(t *testing.T) {
		host := get("service/database", "market-backend", "{.spec.clusterIP}")
		if got := get("configmap/web", "market-frontend", "{.data.database}"); host == "" || got != host+":5432" {
			t.Errorf("the database is at %q, the web part uses %q", host, got)
		}
		if got := get("dataobject/shop-summary", "market", "{.data}"); got != "shop 1.0.0 uses "+host {
			t.Errorf("the shop exports %q", got)
		}
	})
	t.Run("the chart exports an address", func(t *testing.T) {
		address := get("service/page", "page", "{.spec.clusterIP}")
		if got := get("dataobject/page-address", "page", "{.data}"); address == "" || got != "http://"+address {
			t.Errorf("the page is at %q, the installation exports %q", address, got)
		}
	})
	i.stop(t, syscall.SIGTERM)
}

// follow runs the commands of an example's README and checks their outcome.
func (u user) follow(t *testing.T, name string) {
	t.Helper()
	outcome, known := outcomes[name]
	if !known {
		t.Fatal("nobody says what becomes of the example")
	}
	page := examples.Readme(name)
	if start := "\nespalier up --example " + name + "\n"; !strings.Contains(page, start) {
		t.Errorf("the README lacks the command%s", start)
	}
	blocks := shownCommands.FindAllStringSubmatch(page, -1)
	if len(blocks) < 2 {
		t.Fatalf("the README has %d blocks to run", len(blocks))
	}
	var commands []string
	for _, block := range blocks {
		commands = append(commands, block[1])
	}
	printed := u.shell(t, strings.Join(commands, "\n")) // A reader has one terminal.
	for _, want := range outcome.printed {
		if !strings.Contains(printed, want) {
			t.Errorf("the commands do not print %q:\n%s", want, printed)
		}
	}
	for _, f := range outcome.facts {
		if got := u.mustRun(t, "kubectl", "get", f.object, "-n", f.namespace, "-o", "jsonpath="+f.path); got != f.want {
			t.Errorf("%s of %s is %q, not %q", f.path, f.object, got, f.want)
		}
	}
}

// shell runs commands in Bash, where espalier is this test binary, and fails the test at the first that fails.
func (u user) shell(t *testing.T, commands string) string {
	t.Helper()
	path := t.TempDir()
	if err := os.Symlink(os.Args[0], filepath.Join(path, "espalier")); err != nil {
		t.Fatal(err)
	}
	cmd := u.command(t)
	bash := exec.CommandContext(t.Context(), "bash", "-euo", "pipefail", "-c", commands)
	bash.Env = append(cmd.Env, "PATH="+path+string(os.PathListSeparator)+os.Getenv("PATH"))
	bash.Dir = filepath.Join("..", "..")
	out, err := bash.CombinedOutput()
	if err != nil {
		t.Fatalf("%v:\n%s\nprints:\n%s", err, commands, out)
	}
	return string(out)
}

func TestUpListsTheExamples(t *testing.T) {
	u := newUser(t)
	if names := u.mustRun(t, "up", "--list-examples", "-o", "name"); names != strings.Join(examples.Names(), "\n")+"\n" {
		t.Errorf("the names are %q", names)
	}
	out := u.mustRun(t, "up", "--list-examples")
	lines := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
	if len(lines) != len(examples.Names()) {
		t.Errorf("got %d lines:\n%s", len(lines), out)
	}
	for i, name := range examples.Names() {
		if fields := strings.Fields(lines[i]); fields[0] != name || !strings.HasSuffix(lines[i], examples.Describe(name)) {
			t.Errorf("the line of %s is %q", name, lines[i])
		}
	}
}
