// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

const root = "../.."

// TestTheProjectKeepsItsRules checks every rule against the whole work tree.
func TestTheProjectKeepsItsRules(t *testing.T) {
	tree, err := Load(os.DirFS(root))
	if err != nil {
		t.Fatal(err)
	}
	if len(tree.Files) < 20 {
		t.Fatalf("found only %d files below %s; the rules would pass without looking at anything", len(tree.Files), root)
	}
	for _, rule := range Rules {
		t.Run(rule.Name, func(t *testing.T) {
			report(t, rule.Demand, rule.Check(tree))
		})
	}
	t.Run("exemptions", func(t *testing.T) {
		report(t, "an exemption has a rule, a reason and an effect", CheckExemptions(tree))
	})
}

// TestEveryEffectIsExecuted keeps the rule "effects" from passing because it recognises nothing: each set of effects has a switch in the
// shell.
func TestEveryEffectIsExecuted(t *testing.T) {
	tree, err := Load(os.DirFS(root))
	if err != nil {
		t.Fatal(err)
	}
	code := readEffects(tree)
	executed := map[string]bool{}
	code.each(func(s effectSwitch) { executed[s.set] = executed[s.set] || s.file.Dir() != s.set })
	for _, kind := range []string{"installation", "execution", "deployitem", "deployitem/watchdog", "pipeline", "targetsync"} {
		if set := "internal/" + kind; len(code.sets[set]) < 6 || !executed[set] {
			t.Errorf("%s: effects %q, executed by a switch elsewhere: %t", set, code.sets[set], executed[set])
		}
	}
}

func report(t *testing.T, demand string, offences []Offence) {
	t.Helper()
	for _, offence := range offences {
		t.Error(offence)
	}
	if len(offences) > 0 {
		t.Errorf("the rule: %s", demand)
	}
}

// TestRootModuleLinksNoControlPlane keeps etcd and kube-apiserver out of everything but the espalier binary: they need
// a replace for each staging module, and cost minutes of build time.
func TestRootModuleLinksNoControlPlane(t *testing.T) {
	list := exec.Command("go", "list", "-deps", "./...")
	list.Dir = root
	list.Stderr = os.Stderr
	output, err := list.Output()
	if err != nil {
		t.Fatalf("list the dependencies of the root module: %v", err)
	}
	for _, imported := range strings.Fields(string(output)) {
		if withinAny(imported, []string{"k8s.io/kubernetes", "go.etcd.io/etcd/server/v3", modulePath + "/cmd/espalier"}) {
			t.Errorf("the root module links %s", imported)
		}
	}
}
