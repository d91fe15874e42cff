// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package invariant

import "testing"

func TestSuccessIsDeployed(t *testing.T) {
	// family has everything below the installation deployed, for the first generation of its spec.
	family := func() *story {
		return tell().write("Installation root", sketched("sub", "one"), continuous(1, 0)).
			write("Installation sub", below("root"), called("sub"), done(1, "Succeeded")).
			write("Execution root", ownedBy("root"), configured("one"), continuous(1, 0)).
			write("DeployItem a", item("root", "a"), configured("one"), done(1, "Succeeded"))
	}
	// siblings makes the nested installation use the exports of a version of another one.
	siblings := func(exported, used string) *story {
		imports := []any{map[string]any{"name": "x", "configGeneration": used, "sourceRef": map[string]any{"name": "other"}}}
		return family().write("Execution root", done(1, "Succeeded")).
			write("Installation other", set(exported, "status", "configGeneration")).write("Installation sub", set(imports, "status", "imports"))
	}
	whole := func() *story { return family().write("Execution root", done(1, "Succeeded")) }
	say := func(s *story, phase string) *story { return s.write("Installation root", done(1, phase)) }
	end := func(s *story) *story { return say(say(s, "Progressing"), "Succeeded") }
	check(t, "C1", map[string]example{
		"everything":         {end(whole()), ""},
		"of an earlier spec": {end(whole()).write("Installation root", sketched("sub", "two"), continuous(2, 1)), ""},
		"a failure": {
			whole().write("DeployItem a", done(1, "Failed")).
				write("Execution root", done(1, "Failed")).
				write("Installation root", done(1, "Failed")),
			"",
		},
		"a new spec": {
			whole().write("Installation root", sketched("sub", "two"), done(2, "Succeeded")),
			"deploy item a of Execution garden/root is not as the spec wants it",
		},
		"an item is missing": {tell().write("Execution e", configured("one"), done(1, "Succeeded")), "has no deploy item a"},
		"an old item": {
			family().write("Execution root", configured("two"), done(2, "Succeeded")),
			"DeployItem garden/a is not as the spec wants it",
		},
		"an item in work": {
			family().write("DeployItem a", continuous(2, 1)).write("Execution root", done(1, "Succeeded")),
			"DeployItem garden/a is in phase \"Succeeded\" with generation 2",
		},
		"an item that failed": {
			family().write("DeployItem a", done(1, "Failed")).write("Execution root", done(1, "Succeeded")),
			"DeployItem garden/a is in phase \"Failed\"",
		},
		"an item too many": {
			whole().write("DeployItem b", item("root", "b")).
				write("Execution root", phase("Progressing")).
				write("Execution root", done(1, "Succeeded")),
			"DeployItem garden/b, which it does not ask for",
		},
		"no execution":        {end(whole().delete("DeployItem a").delete("Execution root")), "has no execution"},
		"asked to look again": {end(whole().write("Execution root", ask("reconcile"))), ""},
		"an execution in work": {
			end(whole().write("Execution root", phase("Progressing"))),
			"Execution garden/root is in phase \"Progressing\"",
		},
		"nothing nested": {end(whole().delete("Installation sub")), "has no nested installation sub"},
		"an old nested one": {
			end(
				whole().write("Installation sub", set(map[string]any{"blueprint.yaml": "{old: true}"}, "spec", "blueprint", "inline", "filesystem")),
			),
			"has the blueprint of an earlier spec",
		},
		"one nested too many": {
			end(whole().write("Installation other", below("root"), called("other"))),
			"Installation garden/other, which it does not ask for",
		},
		"set to work by others": {
			say(say(whole(), "Progressing").write("Installation sub", phase("Progressing")), "Succeeded"),
			"Installation garden/sub is in phase \"Progressing\"",
		},
		"set to work before its write": {
			end(whole().write("Installation sub", phase("Progressing"))), "Installation garden/sub is in phase \"Progressing\"",
		},
		"with old exports":  {end(siblings("second", "first")), "Installation garden/sub has not yet used what other exports"},
		"with the exports":  {end(siblings("second", "second")), ""},
		"not in the target": {tell().write("DeployItem a", wants("x"), done(1, "Succeeded")), "ConfigMap garden/x is not in the target"},
		"other content": {
			tell().write("ConfigMap x", set("old", "data", "value")).write("DeployItem a", wants("x"), done(1, "Succeeded")),
			"ConfigMap garden/x has the content map[value:old]",
		},
	})
	checkBy(t, RulesOfTwo(), "C1", map[string]example{
		"of two, set to work by the other": {
			say(say(whole(), "Progressing").write("Installation sub", phase("Progressing")), "Succeeded"), "",
		},
		"of two, set to work before its write": {
			end(whole().write("Installation sub", phase("Progressing"))), "Installation garden/sub is in phase \"Progressing\"",
		},
	})
}

func TestBusyIsLeftAlone(t *testing.T) {
	family := func() *story {
		return tell().write("Installation root", done(1, "Succeeded")).
			write("Installation sub", below("root"), done(1, "Succeeded")).write("Execution root", ownedBy("root"), done(1, "Succeeded"))
	}
	check(t, "C2", map[string]example{
		"at rest":             {family().write("Execution root", continuous(2, 1)), ""},
		"one after the other": {family().write("Execution root", continuous(2, 1)).write("Installation sub", continuous(2, 1)), ""},
		"forced": {
			family().write("Execution root", phase("Progressing")).
				write("Installation root", ask("force-reconcile")).
				write("Execution root", continuous(2, 1)),
			"",
		},
		"deleted": {family().write("Execution root", phase("Progressing")).write("Execution root", continuous(2, 1), dying()), ""},
		"in work": {
			family().write("Execution root", phase("Progressing")).write("Execution root", continuous(2, 1)),
			"its spec is changed while it is in phase \"Progressing\"",
		},
		"asked": {
			family().write("Installation sub", ask("reconcile")).write("Installation sub", continuous(2, 1)),
			"asked to \"reconcile\"",
		},
		"twice": {
			family().write("Execution root", continuous(2, 1)).write("Execution root", continuous(3, 1)),
			"with generation 2, of which it has observed 1",
		},
		"a sibling in work": {
			family().write("Installation sub", phase("Progressing")).write("Execution root", continuous(2, 1)),
			"while Installation garden/sub is in phase",
		},
		"of an earlier update": {
			family().write("Installation sub", continuous(2, 1)).
				write("Installation root", phase("Progressing")).
				write("Execution root", continuous(2, 1)),
			"while Installation garden/sub is in phase",
		},
	})
}

func TestImportersKeep(t *testing.T) {
	const ours = "finalizer.landscaper.gardener.cloud"
	pair := func() *story {
		return tell().write("Installation giver", done(1, "Succeeded"), shares("exports", "fruit"), protect(ours)).
			write("Execution giver", ownedBy("giver"), done(1, "Succeeded")).
			write("Installation taker", done(1, "Succeeded"), shares("imports", "fruit"))
	}
	check(t, "C3", map[string]example{
		"waiting": {pair().write("Installation giver", dying(), phase("Deleting")), ""},
		"after it": {
			pair().write("Installation giver", dying()).
				delete("Installation taker").
				write("Execution giver", dying()).
				delete("Execution giver").
				delete("Installation giver"),
			"",
		},
		"by force": {pair().write("Installation giver", dying(), ask("force-reconcile")).write("Execution giver", dying()), ""},
		"a late taker": {
			pair().delete("Installation taker").
				write("Installation giver", dying()).
				write("Execution giver", dying()).
				write("Installation taker", shares("imports", "fruit")).
				delete("Execution giver").
				delete("Installation giver"),
			"",
		},
		"another level": {
			pair().write("Installation taker", below("other")).write("Installation giver", dying()).write("Execution giver", dying()),
			"",
		},
		"an orphan goes": {pair().write("Execution giver", dying()), ""},
		"with its namespace": {
			pair().write("Namespace garden", dying()).write("Installation giver", dying()).write("Execution giver", dying()), "",
		},
		"taken apart": {
			pair().write("Installation giver", dying()).write("Execution giver", dying()),
			"Installation garden/giver is uninstalled while Installation garden/taker imports from it",
		},
		"let go": {
			pair().delete("Execution giver").write("Installation giver", dying()).write("Installation giver", protect()),
			"Installation garden/giver is uninstalled while",
		},
	})
}

func TestRestIsRespected(t *testing.T) {
	since := func(value string) edit { return set(value, "status", "since") }
	pair := func() *story {
		return tell().write("Installation root", done(1, "Succeeded"), since("2024-01-02T03:04:05Z")).
			write("Execution root", ownedBy("root"), done(1, "Succeeded"))
	}
	check(t, "C4", map[string]example{
		"something below": {pair().write("Execution root", phase("Progressing")).write("Installation root", phase("Progressing")), ""},
		"somebody's will": {pair().write("Installation root", ask("reconcile")).write("Installation root", continuous(2, 1)), ""},
		"its deletion":    {pair().write("Execution root", dying()).write("Execution root", phase("Deleting")), ""},
		"of the other flow": {
			tell().write("Installation root", end("1", "Succeeded")).write("Installation root", since("2024-01-02T03:04:06Z")),
			"",
		},
		"a new time":      {pair().write("Installation root", since("2024-01-02T03:04:06Z")), "is written without news"},
		"an older reason": {pair().write("Execution root", phase("Progressing")), ""},
		"asked meanwhile": {
			pair().write("Execution root", ask("reconcile")).
				write("Execution root", since("2024-01-02T03:04:06Z")).
				write("Execution root", ask("")).
				write("Execution root", phase("Progressing")),
			"",
		},
		"for no reason": {
			pair().write("Execution root", phase("Progressing")).
				write("Execution root", phase("Succeeded")).
				write("Execution root", phase("Progressing")),
			"written although nothing has happened",
		},
	})
}

func TestInContinuousOrder(t *testing.T) {
	execution := func() *story {
		return tell().write("Execution root", plan("a", "b"), continuous(1, 1)).write("DeployItem a", item("root", "a"), continuous(1, 0))
	}
	exchange := func() *story {
		return tell().write("Installation root", continuous(1, 1)).
			write("Installation giver", below("root"), shares("exports", "fruit"), continuous(1, 1)).
			write("Installation taker", below("root"), shares("imports", "fruit"), continuous(1, 1))
	}
	b := []edit{item("root", "b", "a"), continuous(1, 0)}
	check(t, "C5", map[string]example{
		"items": {execution().write("DeployItem a", done(1, "Succeeded")).write("DeployItem b", b...), ""},
		"its status": {
			execution().write("DeployItem a", done(1, "Succeeded")).
				write("DeployItem b", b...).
				write("DeployItem a", phase("Failed")).
				write("DeployItem b", phase("Init")),
			"",
		},
		"too early": {execution().write("DeployItem b", b...), "and DeployItem garden/a, which it depends on, is in phase"},
		"after a failure": {
			execution().write("DeployItem a", done(1, "Failed")).write("DeployItem b", b...),
			"which it depends on, is in phase \"Failed\"",
		},
		"on an old one": {
			execution().write("DeployItem a", done(1, "Succeeded")).write("DeployItem a", continuous(2, 1)).write("DeployItem b", b...),
			"with generation 2",
		},
		"siblings": {
			exchange().write("Installation giver", done(1, "Succeeded")).write("Execution taker", ownedBy("taker"), continuous(1, 0)),
			"",
		},
		"siblings, forced": {
			exchange().write("Installation taker", ask("force-reconcile")).write("Execution taker", ownedBy("taker"), continuous(1, 0)),
			"",
		},
		"siblings, early": {
			exchange().write("Execution taker", ownedBy("taker"), continuous(1, 0)),
			"Installation garden/giver, which exports what Installation garden/taker imports, has never succeeded",
		},
	})
}

func TestAtRest(t *testing.T) {
	for name, c := range map[string]struct {
		story *story
		want  bool
	}{
		"done":       {tell().write("Installation root", done(1, "Failed")), true},
		"other flow": {tell().write("Installation root", job("1")), true},
		"gone":       {tell().write("Installation root", continuous(1, 0)).delete("Installation root"), true},
		"in work":    {tell().write("Installation root", done(1, "Progressing")), false},
		"behind":     {tell().write("Installation root", done(1, "Succeeded")).write("Installation root", continuous(2, 1)), false},
		"asked":      {tell().write("Installation root", done(1, "Succeeded"), ask("abort")), false},
		"going":      {tell().write("Installation root", done(1, "Succeeded"), dying()), false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := AtRest(c.story.history); got != c.want {
				t.Errorf("at rest: %t, want %t", got, c.want)
			}
		})
	}
}
