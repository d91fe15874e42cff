// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package tree_test

import (
	"strings"
	"testing"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/cli"
	"espalier.dev/internal/cli/tree"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/clitest"
)

func TestMain(m *testing.M) { testkit.Main(m) }

func TestTrees(t *testing.T) {
	server := testkit.Server(t)
	namespace := server.Namespace(t)
	clitest.Shop(t, server, namespace)
	clitest.Blog(t, server, namespace)
	for name, args := range map[string][]string{
		"all":     nil,
		"wide":    {"-o", "wide"},
		"failed":  {"--failed"},
		"subtree": {"installation.landscaper.gardener.cloud/shop-web"},
		"names":   {"blog", "-o", "name"},
		"json":    {"blog", "-o", "json"},
		"yaml":    {"--failed", "-o", "yaml"},
	} {
		t.Run(name, func(t *testing.T) {
			got := clitest.Run(t, server, namespace, clitest.Call{Command: tree.New, Args: args})
			if got.Code != cli.ExitOK || got.Stderr != "" {
				t.Errorf("exit code %d, stderr %q", got.Code, got.Stderr)
			}
			if strings.Contains(strings.TrimSuffix(got.Stdout, "\n"), "\x1b") {
				t.Errorf("a message can steer the terminal: %q", got.Stdout)
			}
			testkit.Golden(t, name, hideTimes(got.Stdout))
		})
	}
}

// hideTimes replaces the only time that occurs.
func hideTimes(text string) string {
	at := clitest.Status(lsv1alpha1.PhaseFailed).PhaseTransitionTime
	return strings.ReplaceAll(text, at.UTC().Format("2006-01-02T15:04:05Z"), "<time>")
}

func TestNothingToShow(t *testing.T) {
	server := testkit.Server(t)
	namespace := server.Namespace(t)
	got := clitest.Run(t, server, namespace, clitest.Call{Command: tree.New})
	if got.Code != cli.ExitOK || got.Stdout != "" || got.Stderr != "There are no installations.\n" {
		t.Errorf("%+v", got)
	}
	clitest.Shop(t, server, namespace)
	got = clitest.Run(t, server, namespace, clitest.Call{Command: tree.New, Args: []string{"--failed"}})
	if got.Code != cli.ExitOK || got.Stdout != "" || got.Stderr != "Nothing has failed.\n" {
		t.Errorf("%+v", got)
	}
}

func TestUnknownName(t *testing.T) {
	server := testkit.Server(t)
	got := clitest.Run(t, server, server.Namespace(t), clitest.Call{Command: tree.New, Args: []string{"nope"}})
	if got.Code != cli.ExitNotFound || !strings.Contains(got.Stderr, "installation nope does not exist") {
		t.Errorf("%+v", got)
	}
}

// Anybody may write labels; a circle of them must not hang the command.
func TestInstallationsThatContainEachOther(t *testing.T) {
	server := testkit.Server(t)
	namespace := server.Namespace(t)
	clitest.Store(t, server,
		testkit.Installation(namespace, "hen").Label(lsv1alpha1.EncompassedByLabel, "egg").Build(),
		testkit.Installation(namespace, "egg").Label(lsv1alpha1.EncompassedByLabel, "hen").Build(),
		testkit.Installation(namespace, "self").Label(lsv1alpha1.EncompassedByLabel, "self").Build(),
		testkit.Installation(namespace, "orphan").Label(lsv1alpha1.EncompassedByLabel, "gone").Build(),
	)
	got := clitest.Run(t, server, namespace, clitest.Call{Command: tree.New, Args: []string{"-o", "name"}})
	for _, name := range []string{"hen", "egg", "self", "orphan"} {
		if strings.Count(got.Stdout, "/"+name+"\n") != 1 {
			t.Errorf("%s is not listed once:\n%s", name, got.Stdout)
		}
	}
}
