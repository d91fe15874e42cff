// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package inventory_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/cli"
	"espalier.dev/internal/cli/connect"
	"espalier.dev/internal/cli/inventory"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/clitest"
)

func TestMain(m *testing.M) { testkit.Main(m) }

func TestInventories(t *testing.T) {
	server := testkit.Server(t)
	namespace := server.Namespace(t)
	clitest.Shop(t, server, namespace)
	clitest.Blog(t, server, namespace)
	for name, args := range map[string][]string{
		"all":   nil,
		"wide":  {"blog", "-o", "wide"},
		"json":  {"blog", "-o", "json"},
		"names": {"installation/blog", "-o", "name"},
		"tree":  {"blog", "-o", "tree"},
		"dot":   {"blog", "-o", "dot"},
		"paths": {"-o", `jsonpath={range .objects[*]}{.targetName} {.kind}/{.name}{"\n"}{end}`},
		"live":  {"blog", "blog", "--live"},
	} {
		t.Run(name, func(t *testing.T) {
			got := clitest.Run(t, server, namespace, clitest.Call{Command: inventory.New, Args: args})
			if got.Code != cli.ExitOK || got.Stderr != "" {
				t.Errorf("exit code %d, stderr %q", got.Code, got.Stderr)
			}
			testkit.Golden(t, name, got.Stdout)
		})
	}
	for name, test := range map[string]struct {
		args           []string
		code           int
		stdout, stderr string
	}{
		"nothing":       {[]string{"shop"}, cli.ExitOK, "", "No objects recorded.\n"},
		"nothing, json": {[]string{"shop", "-o", "json"}, cli.ExitOK, "{\n  \"objects\": []\n}\n", ""},
		"nothing, dot": {
			[]string{"shop", "-o", "dot"}, cli.ExitOK,
			"digraph \"Objects in target clusters\" {\n  rankdir=LR;\n  compound=true;\n  node [shape=box, style=rounded];\n}\n", "",
		},
		"unknown":        {[]string{"nope"}, cli.ExitNotFound, "", "installation nope does not exist"},
		"unknown format": {[]string{"-o", "xml"}, cli.ExitError, "", `unknown output format "xml": --output takes table, wide, tree, json, yaml, name, svg, mermaid, dot, jsonpath=TEMPLATE`},
		"bad template":   {[]string{"-o", "jsonpath={.objects[}"}, cli.ExitError, "", "--output jsonpath: line 1, column 1: unterminated array"},
		"both":           {[]string{"blog", "-A"}, cli.ExitError, "", "names and --all-namespaces do not go together"},
	} {
		got := clitest.Run(t, server, namespace, clitest.Call{Command: inventory.New, Args: test.args})
		if got.Code != test.code || got.Stdout != test.stdout || !strings.Contains(got.Stderr, test.stderr) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestInventoryWithoutATarget(t *testing.T) {
	server := testkit.Server(t)
	namespace := server.Namespace(t)
	objects := clitest.BlogObjects(namespace)
	for _, object := range objects {
		if item, isItem := object.(*lsv1alpha1.DeployItem); isItem {
			item.Spec.Target = nil
		}
	}
	clitest.Store(t, server, objects...)
	for format, want := range map[string]string{"tree": "no target\n└─ Installation blog\n", "dot": "    label=\"no target\";\n"} {
		got := clitest.Run(t, server, namespace, clitest.Call{Command: inventory.New, Args: []string{"-o", format}})
		if got.Code != cli.ExitOK || !strings.Contains("\n"+got.Stdout, "\n"+want) {
			t.Errorf("-o %s: %+v", format, got)
		}
	}
}

// listing is what a program reads of an inventory.
type listing struct {
	Objects []struct {
		Target, TargetName, Kind, Namespace, Name, UID, Policy, State string
		DeployItem                                                    struct{ As, Phase, JobID string }
		Installation, Root                                            struct{ Name string }
	}
}

// What real deployers have done is listed with the places that it comes from, in every format, and without a value of it.
func TestInventoryOfRealDeployers(t *testing.T) {
	w := newWorld(t)
	w.deploy()
	got := w.run(inventory.New, "-o", "json", "--live")
	var found listing
	if err := json.Unmarshal([]byte(got.Stdout), &found); err != nil || got.Code != cli.ExitOK {
		t.Fatalf("%v: %+v", err, got)
	}
	var titles []string
	for _, o := range found.Objects {
		titles = append(titles, strings.Join([]string{o.DeployItem.As, o.Kind, o.Name, o.Policy, o.State}, " "))
		if o.DeployItem.Phase != "Succeeded" || o.DeployItem.JobID != w.shop.Status.JobID || o.Target == "" || o.Namespace != "<namespace>" {
			t.Errorf("%s is told as %+v", o.Name, o)
		}
		if o.TargetName != "cluster" || o.Target == "cluster" {
			t.Errorf("the Target of %s is %s, called %s", o.Name, o.Target, o.TargetName)
		}
		if o.Installation.Name != w.nested.Name || o.Root.Name != "shop" {
			t.Errorf("%s belongs to %+v", o.Name, o)
		}
		if (o.UID == "") != (o.DeployItem.As == "chart") {
			t.Errorf("%s has the UID %q", o.Name, o.UID)
		}
	}
	want := []string{
		"objects ConfigMap settings manage Ready", "objects Secret credentials keep Ready", "objects Installation inner manage NotReady",
		"chart Release site  ", "chart Deployment site  NotReady",
	}
	if diff := cmp.Diff(want, titles); diff != "" {
		t.Error(diff)
	}
	w.checkLeft(len(want))
	w.settings().Delete()
	for _, args := range [][]string{
		{"--live"}, {"-o", "wide"}, {"-o", "yaml"}, {"-o", "name"}, {"-A"}, {"-o", "tree", "--live"}, {"-o", "svg", "--live"}, {"-o", "mermaid"},
	} {
		got := w.run(inventory.New, args...)
		if got.Code != cli.ExitOK || !strings.Contains(got.Stdout, "settings") || strings.Contains(got.Stdout+got.Stderr, hidden) {
			t.Errorf("%q: %+v", args, got)
		}
		if args[0] == "--live" && !strings.Contains(got.Stdout, "Gone") {
			t.Errorf("an object that was deleted: %s", got.Stdout)
		}
	}
}

// checkLeft checks the list of what would stay in place: nested installations deploy to copies of Targets, and users know the originals.
func (w *world) checkLeft(objects int) {
	w.Helper()
	got := w.run(func(env cli.Environment) *cobra.Command {
		cmd := &cobra.Command{Use: "left"}
		access := connect.AddFlags(cmd, env)
		cmd.RunE = func(cmd *cobra.Command, names []string) error {
			_, err := inventory.PrintLeft(cmd.Context(), env, access, names)
			return err
		}
		return cmd
	}, "shop")
	if named := strings.Count(got.Stderr, "\ncluster   "); got.Code != cli.ExitOK || named != objects {
		w.Errorf("the Targets of %d objects, not %d, are called by their name: %+v", named, objects, got)
	}
}
