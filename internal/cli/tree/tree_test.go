// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package tree_test

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/cli"
	"espalier.dev/internal/cli/tree"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/clitest"
)

func TestMain(m *testing.M) { testkit.MainWithOthers(m) }

func TestTrees(t *testing.T) {
	server := testkit.Server(t)
	namespace := server.Namespace(t)
	clitest.Shop(t, server, namespace)
	clitest.Blog(t, server, namespace)
	for name, args := range map[string][]string{
		"all":          nil,
		"wide":         {"-o", "wide"},
		"failed":       {"--failed"},
		"subtree":      {"installation.landscaper.gardener.cloud/shop-web"},
		"names":        {"blog", "-o", "name"},
		"json":         {"blog", "-o", "json"},
		"objects":      {"blog", "--objects"},
		"objects-json": {"blog", "--objects", "-o", "json"},
		"yaml":         {"--failed", "-o", "yaml"},
		"svg":          {"-o", "svg"},
		"mermaid":      {"-o", "mermaid"},
		"dot":          {"--objects", "-o", "dot"},
		"failed-dot":   {"--failed", "-o", "dot"},
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
	if diff := cmp.Diff(clitest.Result{Code: cli.ExitOK, Stderr: "There are no installations.\n"}, got); diff != "" {
		t.Error(diff)
	}
	for format, want := range map[string]string{
		"svg": "<title id=\"title\">0 installations</title>", "mermaid": "flowchart ", "dot": `digraph "0 installations" {`,
	} {
		got := clitest.Run(t, server, namespace, clitest.Call{Command: tree.New, Args: []string{"-o", format}})
		if got.Code != cli.ExitOK || !strings.Contains(got.Stdout, want) || got.Stderr != "" {
			t.Errorf("-o %s: %+v", format, got)
		}
	}
	clitest.Shop(t, server, namespace)
	got = clitest.Run(t, server, namespace, clitest.Call{Command: tree.New, Args: []string{"--failed"}})
	if diff := cmp.Diff(clitest.Result{Code: cli.ExitOK, Stderr: "Nothing has failed.\n"}, got); diff != "" {
		t.Error(diff)
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

// What is in the clusters is told beside what was recorded, and so is a cluster that cannot be looked at.
func TestLiveObjects(t *testing.T) {
	server := testkit.Server(t)
	namespace := server.Namespace(t)
	clitest.Blog(t, server, namespace)
	without := clitest.Run(t, server, namespace, clitest.Call{Command: tree.New, Args: []string{"blog", "--live"}})
	if without.Code != cli.ExitOK || !strings.Contains(without.Stdout, "NotReadable") || !strings.Contains(without.Stdout, "read Target") {
		t.Errorf("without a target: %+v", without)
	}
	raw, err := os.ReadFile(server.Kubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	testkit.Create(t, server, testkit.Target(namespace, "cluster").Kubeconfig(string(raw)).Build())
	got := clitest.Run(t, server, namespace, clitest.Call{Command: tree.New, Args: []string{"blog", "--live"}})
	if got.Code != cli.ExitOK || got.Stderr != "" {
		t.Errorf("exit code %d, stderr %q", got.Code, got.Stderr)
	}
	testkit.Golden(t, "live", hideTimes(got.Stdout))
}

// A release without workloads has no objects in the status: its record in the cluster is looked at.
func TestLiveObjectsOfAReleaseWithoutWorkloads(t *testing.T) {
	server := testkit.Server(t)
	namespace := server.Namespace(t)
	clitest.Blog(t, server, namespace)
	item := &lsv1alpha1.DeployItem{}
	if err := server.Client().Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "blog-site"}, item); err != nil {
		t.Fatal(err)
	}
	item.Status.ProviderStatus.Raw = []byte(`{"release": {"name": "site", "namespace": "web", "revision": 3}}`)
	if err := server.Client().Status().Update(t.Context(), item); err != nil {
		t.Fatal(err)
	}
	look := func(want string) {
		t.Helper()
		got := clitest.Run(t, server, namespace, clitest.Call{Command: tree.New, Args: []string{"blog", "--live", "-o", "json"}})
		if got.Code != cli.ExitOK || !strings.Contains(got.Stdout, want) {
			t.Errorf("it does not say %q: %+v", want, got)
		}
	}
	look("read Target <namespace>/cluster")
	raw, err := os.ReadFile(server.Kubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	testkit.Create(t, server, testkit.Target(namespace, "cluster").Kubeconfig(string(raw)).Build())
	look("read the record of the release, Secret web/sh.helm.release.v1.site.v3")
}
