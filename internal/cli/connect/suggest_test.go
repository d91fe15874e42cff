// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package connect_test

import (
	"testing"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"espalier.dev/internal/cli"
	"espalier.dev/internal/cli/connect"
)

func TestSuggestions(t *testing.T) {
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
	} {
		t.Run(name, func(t *testing.T) {
			streams, _, _, _ := genericiooptions.NewTestIOStreams()
			var access *connect.Access
			command := &cobra.Command{Use: "try", Run: func(*cobra.Command, []string) {
				if got := access.Suggest("shops", "why", "shop"); got != test.ours {
					t.Errorf("suggests %q", got)
				}
				if got := access.SuggestKubectl("shops", "get", "pods"); got != test.kubectl {
					t.Errorf("suggests %q", got)
				}
			}}
			access = connect.AddFlags(command, cli.NewEnvironment(streams))
			access.AddAllNamespaces()
			root := cli.NewRoot(streams, command, &cobra.Command{Use: "kubectl", Run: func(*cobra.Command, []string) {}})
			cli.NameAfter(root, test.binary)
			root.SetArgs(append([]string{"try"}, test.args...))
			if code := cli.Run(t.Context(), root); code != 0 {
				t.Errorf("exit code %d", code)
			}
		})
	}
}
