// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package inventory_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"espalier.dev/internal/cli"
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
		"nothing":        {[]string{"shop"}, cli.ExitOK, "", "No objects recorded.\n"},
		"nothing, json":  {[]string{"shop", "-o", "json"}, cli.ExitOK, "{\n  \"objects\": []\n}\n", ""},
		"unknown":        {[]string{"nope"}, cli.ExitNotFound, "", "installation nope does not exist"},
		"unknown format": {[]string{"-o", "tree"}, cli.ExitError, "", `unknown output format "tree"`},
		"both":           {[]string{"blog", "-A"}, cli.ExitError, "", "names and --all-namespaces do not go together"},
	} {
		got := clitest.Run(t, server, namespace, clitest.Call{Command: inventory.New, Args: test.args})
		if got.Code != test.code || got.Stdout != test.stdout || !strings.Contains(got.Stderr, test.stderr) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// listing is what a program reads of an inventory.
type listing struct {
	Objects []struct {
		Target, Kind, Namespace, Name, UID, Policy, State string
		DeployItem                                        struct{ As, Phase, JobID string }
		Installation, Root                                struct{ Name string }
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
	w.settings().Delete()
	for _, args := range [][]string{{"--live"}, {"-o", "wide"}, {"-o", "yaml"}, {"-o", "name"}, {"-A"}} {
		got := w.run(inventory.New, args...)
		if got.Code != cli.ExitOK || !strings.Contains(got.Stdout, "settings") || strings.Contains(got.Stdout+got.Stderr, hidden) {
			t.Errorf("%q: %+v", args, got)
		}
		if args[0] == "--live" && !strings.Contains(got.Stdout, "Gone") {
			t.Errorf("an object that was deleted: %s", got.Stdout)
		}
	}
}
