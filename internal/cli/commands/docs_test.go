// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package commands_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/tools/clientcmd"

	"espalier.dev/internal/cli"
	"espalier.dev/internal/cli/commands"
	"espalier.dev/internal/cli/explain"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/clitest"
)

var (
	consoleBlock = regexp.MustCompile("(?ms)^```console\n\\$ espalier ([^\n]*)\n(.*?)^```$")
	// waits are left out: what they print depends on what happens meanwhile.
	waits = regexp.MustCompile(`--wait`)
)

// TestDocumentation runs the examples of docs/cli.md, each in a namespace of its own, and compares what they print,
// standard output first.
func TestDocumentation(t *testing.T) {
	page, err := os.ReadFile("../../../docs/cli.md")
	if err != nil {
		t.Fatal(err)
	}
	run := 0
	for _, block := range consoleBlock.FindAllStringSubmatch(string(page), -1) {
		if waits.MatchString(block[1]) {
			continue
		}
		run++
		t.Run(block[1], func(t *testing.T) {
			if difference := cmp.Diff(block[2], printed(t, strings.Fields(block[1]))); difference != "" {
				t.Errorf("- shown, + printed:\n%s", difference)
			}
		})
	}
	if run < 7 {
		t.Errorf("only %d examples were run", run)
	}
}

// printed runs a command as a user does whose kubeconfig leads to the right namespace.
func printed(t *testing.T, args []string) string {
	t.Helper()
	server := testkit.Server(t)
	namespace := server.Namespace(t)
	clitest.Shop(t, server, namespace)
	clitest.Blog(t, server, namespace)
	clitest.Line(t, server, namespace)
	clitest.Store(t, server, testkit.Installation(namespace, "fresh").Build(), clitest.Clusters(namespace, "TargetSecretMissing",
		"the Secret source-access of spec.secretRef does not exist: create it with a kubeconfig of the source"))
	kubeconfig := inNamespace(t, server.Kubeconfig(), namespace)
	t.Setenv("KUBECONFIG", kubeconfig)
	streams, _, out, errOut := genericiooptions.NewTestIOStreams()
	environment := cli.NewEnvironment(streams)
	environment.Now = clitest.Now
	root := cli.NewRoot(streams, commands.All(environment)...)
	root.AddCommand(explain.New(environment), &cobra.Command{Use: "kubectl", Run: func(*cobra.Command, []string) {}})
	root.SetArgs(args)
	cli.Run(t.Context(), root)
	return strings.NewReplacer(namespace, "shops", server.Config().Host, "https://127.0.0.1:6443",
		clitest.Now().UTC().Format(time.RFC3339), "2026-03-01T12:00:00Z").Replace(out.String() + errOut.String())
}

func inNamespace(t *testing.T, kubeconfig, namespace string) string {
	t.Helper()
	config, err := clientcmd.LoadFromFile(kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	config.Contexts[config.CurrentContext].Namespace = namespace
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		t.Fatal(err)
	}
	return path
}
