// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package connect_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"espalier.dev/internal/cli"
	"espalier.dev/internal/cli/connect"
)

// works lets the user work in a namespace.
func works(t *testing.T, namespace string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "kubeconfig")
	text := `{apiVersion: v1, kind: Config, current-context: c, contexts: [{name: c, context: {cluster: c, namespace: ` + namespace + `}}],
clusters: [{name: c, cluster: {server: "https://127.0.0.1:1"}}]}`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("KUBECONFIG", file)
}

// try runs something with what the flags of a command say.
func try(t *testing.T, binary string, args []string, do func(*connect.Access)) (stderr string) {
	t.Helper()
	streams, _, _, errOut := genericiooptions.NewTestIOStreams()
	var access *connect.Access
	command := &cobra.Command{Use: "try", Run: func(*cobra.Command, []string) { do(access) }}
	access = connect.AddFlags(command, cli.NewEnvironment(streams))
	access.AddAllNamespaces()
	root := cli.NewRoot(streams, command, &cobra.Command{Use: "kubectl", Run: func(*cobra.Command, []string) {}})
	cli.NameAfter(root, binary)
	root.SetArgs(append([]string{"try"}, args...))
	if code := cli.Run(t.Context(), root); code != 0 {
		t.Errorf("exit code %d", code)
	}
	return errOut.String()
}

func TestSuggestions(t *testing.T) {
	works(t, "shops")
	for name, test := range map[string]struct {
		binary  string
		args    []string
		ours    string
		kubectl string
	}{
		"no flags":       {"espalier", nil, "espalier why shop", "espalier kubectl get pods"},
		"a namespace":    {"espalier", []string{"-n", "x"}, "espalier why shop -n shops", "espalier kubectl get pods -n shops"},
		"all namespaces": {"espalier", []string{"-A"}, "espalier why shop -n shops", "espalier kubectl get pods -n shops"},
		"a context":      {"espalier", []string{"--context", "a b"}, "espalier why shop --context='a b'", "espalier kubectl get pods --context='a b'"},
		"a quote":        {"espalier", []string{"--context", "it's"}, `espalier why shop --context='it'\''s'`, `espalier kubectl get pods --context='it'\''s'`},
		"a secret":       {"espalier", []string{"--token", "swordfish", "--as", "me"}, "espalier why shop --as=me", "espalier kubectl get pods --as=me"},
		"a plugin":       {"/bin/kubectl-espalier", nil, "kubectl espalier why shop", "kubectl get pods"},
		"a list": {
			"espalier", []string{"--as=me", "--as-group=a b", "--as-group=c"}, "espalier why shop --as=me --as-group='a b' --as-group=c",
			"espalier kubectl get pods --as=me --as-group='a b' --as-group=c",
		},
	} {
		t.Run(name, func(t *testing.T) {
			try(t, test.binary, test.args, func(access *connect.Access) {
				if got := access.Suggest("shops", "why", "shop"); got != test.ours {
					t.Errorf("suggests %q", got)
				}
				if got := access.Suggest("", "tree", "--all-namespaces"); strings.Contains(got, " -n ") {
					t.Errorf("suggests %q", got)
				}
				if got := access.SuggestKubectl("shops", "get", "pods"); got != test.kubectl {
					t.Errorf("suggests %q", got)
				}
			})
		})
	}
}

// A suggested command reaches the namespace that it is meant for, if it is meant for one, also if the user works in another.
func TestSuggestionsForOtherNamespaces(t *testing.T) {
	works(t, "shops")
	try(t, "espalier", nil, func(access *connect.Access) {
		if got := access.Suggest("others", "why", "shop"); got != "espalier why shop -n others" {
			t.Errorf("suggests %q", got)
		}
	})
	try(t, "espalier", []string{"-n", "x"}, func(access *connect.Access) {
		if got := access.SuggestKubectl("", "api-resources"); got != "espalier kubectl api-resources" {
			t.Errorf("suggests %q", got)
		}
	})
}

// Names come from the cluster: whoever copies a command runs that one alone.
func TestSuggestionsRunNothingElse(t *testing.T) {
	works(t, "shops")
	try(t, "espalier", nil, func(access *connect.Access) {
		for name, want := range map[string]string{
			"prod;$(curl x|sh)":             "'prod;$(curl x|sh)'",
			"it's":                          `'it'\''s'`,
			"a\x1b[2K\x07b\nrm -rf ~\u202e": "'abrm -rf ~'",
			"":                              "''",
		} {
			if got := access.Suggest("shops", "approve", "shop", name); got != "espalier approve shop "+want {
				t.Errorf("suggests %q", got)
			}
		}
	})
}

func TestTellKeepsTheTerminal(t *testing.T) {
	got := try(t, "espalier", nil, func(access *connect.Access) {
		access.Tell("revision %s:\n  next", "1.0\x1b]0;title\x07\x1b[31m")
	})
	if got != "revision 1.0]0;title:\n  next\n" {
		t.Errorf("says %q", got)
	}
}
