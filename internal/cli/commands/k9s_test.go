// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package commands_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/yaml"

	"espalier.dev/internal/cli"
	"espalier.dev/internal/cli/commands"
)

// plugin is a command in k9s, with the fields that it knows.
type plugin struct {
	ShortCut    string   `json:"shortCut"`
	Description string   `json:"description"`
	Scopes      []string `json:"scopes"`
	Command     string   `json:"command"`
	Background  bool     `json:"background"`
	Confirm     bool     `json:"confirm"`
	Dangerous   bool     `json:"dangerous"`
	Args        []string `json:"args"`
}

var (
	// pluginCall is a call of ours in a script.
	pluginCall = regexp.MustCompile(`kubectl-espalier ([^;|>]*)`)
	// replaced is what k9s takes for a variable of its own. Old versions refuse a script with others, and none knows $1.
	replaced = regexp.MustCompile(`\$[\w!-]`)
)

func readPlugins(t *testing.T) map[string]plugin {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "contrib", "k9s", "plugins.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Plugins map[string]plugin `json:"plugins"`
	}
	if err := yaml.UnmarshalStrict(text, &file); err != nil {
		t.Fatal(err)
	}
	return file.Plugins
}

// Every command in the file for k9s exists, with its flags and arguments.
func TestCommandsForK9sExist(t *testing.T) {
	streams, _, _, _ := genericiooptions.NewTestIOStreams()
	seen := map[string]bool{}
	for name, p := range readPlugins(t) {
		calls := pluginCall.FindAllStringSubmatch(p.Args[1], -1)
		if len(calls) == 0 {
			t.Errorf("%s calls nothing of ours: %s", name, p.Args[1])
		}
		for _, call := range calls {
			words := strings.Fields(strings.NewReplacer(`"${1}"`, "one", `"${2}"`, "two", `"${3}"`, "three", `"${answer}"`, "four", "2", "").Replace(call[1]))
			root := cli.NewRoot(streams, commands.All(cli.NewEnvironment(streams))...)
			command, rest, err := root.Find(words)
			if err != nil || command == root {
				t.Errorf("%s: no command for %v: %v", name, words, err)
				continue
			}
			called := strings.TrimPrefix(command.CommandPath(), root.Name()+" ")
			seen[called] = true
			if changes := []string{"reconcile", "interrupt", "approve", "promote", "watch"}; slices.Contains(changes, called) && !p.Dangerous {
				t.Errorf("%s changes something, and is offered by k9s --readonly", name)
			}
			if err := command.ParseFlags(rest); err != nil {
				t.Errorf("%s: %v: %v", name, words, err)
			} else if err := command.ValidateArgs(command.Flags().Args()); err != nil {
				t.Errorf("%s: %v: %v", name, words, err)
			}
		}
	}
	for _, wanted := range []string{"why", "tree", "watch", "reconcile", "interrupt", "approve", "promote", "pipeline why"} {
		if !seen[wanted] {
			t.Errorf("nothing calls %s", wanted)
		}
	}
}

// The file is one that k9s reads: what it asks for is there, no key is taken twice, and scripts get names as arguments.
func TestPluginsFitK9s(t *testing.T) {
	keys := map[string]string{}
	for name, p := range readPlugins(t) {
		if p.ShortCut == "" || p.Description == "" || p.Command != "sh" || len(p.Args) != 6 {
			t.Errorf("%s lacks a field, or does not run a script with three arguments: %+v", name, p)
			continue
		}
		if want := []string{"$NAME", "$NAMESPACE", "$CONTEXT"}; !slices.Equal(p.Args[3:], want) {
			t.Errorf("%s passes %v", name, p.Args[3:])
		}
		for _, scope := range p.Scopes {
			if scope != "installations" && scope != "pipelines" {
				t.Errorf("%s is for %s", name, scope)
			}
			if other := keys[scope+p.ShortCut]; other != "" {
				t.Errorf("%s and %s share a key", name, other)
			}
			keys[scope+p.ShortCut] = name
		}
		if found := replaced.FindString(p.Args[1]); found != "" {
			t.Errorf("%s: k9s replaces %s", name, found)
		}
		if out, err := exec.CommandContext(t.Context(), "sh", "-n", "-c", p.Args[1]).CombinedOutput(); err != nil {
			t.Errorf("%s is no script: %v: %s", name, err, out)
		}
	}
	if len(keys) < 8 {
		t.Errorf("found %d plugins", len(keys))
	}
}
