// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package kubectl

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

func TestUseOwnControlPlane(t *testing.T) {
	tests := map[string]struct {
		started    bool
		kubeconfig string
		want       string
	}{
		"never started":              {false, "", ""},
		"started":                    {true, "", "own"},
		"the user wants another":     {true, "/theirs", "/theirs"},
		"another, and never started": {false, "/theirs", "/theirs"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			data := t.TempDir()
			t.Setenv("XDG_DATA_HOME", data)
			t.Setenv("KUBECONFIG", test.kubeconfig)
			own := filepath.Join(data, "espalier", "kubeconfig")
			if test.started {
				makeFile(t, own)
			}
			useOwnControlPlane()
			if got := strings.Replace(os.Getenv("KUBECONFIG"), own, "own", 1); got != test.want {
				t.Errorf("KUBECONFIG is %q", got)
			}
		})
	}
}

func makeFile(t *testing.T, path string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestCompleteAsksKubectl(t *testing.T) {
	t.Setenv("XDG_DATA_HOME", t.TempDir())
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	got, directive := complete(nil, "expl")
	if directive != cobra.ShellCompDirectiveNoFileComp {
		t.Errorf("directive is %d", directive)
	}
	if !slices.ContainsFunc(got, func(line string) bool { return strings.HasPrefix(line, "explain\t") }) {
		t.Errorf("got %q", got)
	}
}

func TestParseCompletions(t *testing.T) {
	tests := map[string]struct {
		output    string
		want      []string
		directive cobra.ShellCompDirective
	}{
		"suggestions":    {"a\tletter\nb\n:4\n", []string{"a\tletter", "b"}, cobra.ShellCompDirectiveNoFileComp},
		"no suggestions": {":0\n", []string{}, cobra.ShellCompDirectiveDefault},
		"no protocol":    {"oops\n", nil, cobra.ShellCompDirectiveError},
		"no number":      {"a\n:x\n", nil, cobra.ShellCompDirectiveError},
		"nothing":        {"", nil, cobra.ShellCompDirectiveError},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, directive := parseCompletions(test.output)
			if !slices.Equal(got, test.want) || directive != test.directive {
				t.Errorf("got %q, %d", got, directive)
			}
		})
	}
}
