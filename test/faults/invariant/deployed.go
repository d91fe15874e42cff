// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package invariant

import (
	"fmt"
	"slices"
	"strings"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/testkit"
)

// successIsDeployed holds for every write by which an object of the continuous flow reports success with its current spec: what is below
// matches this spec, has succeeded itself with the current exports, and is in the target.
func successIsDeployed(history testkit.History) []Violation {
	return checkClaims(history, func(step) bool { return false })
}

// successWasDeployed is the rule for two processes that work at once: one may start work on a nested installation between the other's
// decision about its parent and the write of that. So for an installation the claim must have been true at some moment since its previous
// write.
func successWasDeployed(history testkit.History) []Violation {
	return checkClaims(history, func(claim step) bool { return claim.id.Kind == kindInstallation && wasTrue(history, claim) })
}

func checkClaims(history testkit.History, excused func(claim step) bool) []Violation {
	f := &findings{rule: "C1"}
	replay(history, func(s step) {
		if s.after == nil || !s.after.isContinuous() || s.after.deleting() || !claims(s) {
			return
		}
		if wrong := checkClaim(s); len(wrong) > 0 && !excused(s) {
			f.found = append(f.found, wrong...)
		}
	})
	return f.found
}

func checkClaim(s step) []Violation {
	f := &findings{rule: "C1"}
	switch s.id.Kind {
	case kindInstallation:
		checkNested(f, s)
		checkRendered(f, s)
	case kindExecution:
		checkItems(f, s)
	case kindDeployItem:
		checkContents(f, s)
	}
	return f.found
}

// wasTrue reports whether a claim was true at some moment since the previous write of the object.
func wasTrue(history testkit.History, claim step) bool {
	begun, found := false, false
	replay(history, func(s step) {
		begun = begun || s.after != nil && claim.before != nil && s.after.raw == claim.before.raw
		if begun && !found && s.version < claim.version {
			found = len(checkClaim(step{world: s.world, id: claim.id, after: claim.after})) == 0
		}
	})
	return found
}

// claims reports whether the step first reports success of the current spec.
func claims(s step) bool {
	succeeded := func(o *object) bool { return o != nil && o.isSuccess() && o.isUpToDate() }
	return succeeded(s.after) && (!succeeded(s.before) || s.before.generation != s.after.generation)
}

// checkNested compares the nested installations with those of the blueprint.
func checkNested(f *findings, s step) {
	wanted := map[string]bool{}
	for _, template := range sketchOf(s.after).Subinstallations {
		wanted[template.Name] = true
		sub := childNamed(s, kindInstallation, template.Name)
		if sub == nil {
			f.add(s, "it has succeeded, and has no nested installation %s", template.Name)
			continue
		}
		checkChild(f, s, sub)
		if !resembles(template.Blueprint.Filesystem, filesOf(sub)) {
			f.add(s, "it has succeeded, and %s has the blueprint of an earlier spec", sub.id)
		}
		checkImports(f, s, sub)
	}
	for _, child := range s.world.children(s.id) {
		if child.id.Kind == kindInstallation && !wanted[child.name()] {
			f.add(s, "it has succeeded, and %s, which it does not ask for, still exists", child.id)
		}
	}
}

// checkImports compares what a nested installation has imported from its siblings with their exports.
func checkImports(f *findings, s step, sub *object) {
	for _, used := range typed[lsv1alpha1.Installation](sub).Status.Imports {
		if used.SourceReference == nil {
			continue
		}
		exporter := s.world[testkit.ObjectID{Kind: kindInstallation, Namespace: sub.id.Namespace, Name: used.SourceReference.Name}]
		if exporter == nil || !strings.Contains(used.ConfigGeneration, typed[lsv1alpha1.Installation](exporter).Status.ConfigGeneration) {
			f.add(s, "it has succeeded, and %s has not yet used what %s exports", sub.id, used.SourceReference.Name)
		}
	}
}

// checkRendered compares the deploy items in an execution's spec with those of the blueprint.
func checkRendered(f *findings, s step) {
	items := sketchOf(s.after).items()
	i := slices.IndexFunc(s.world.children(s.id), func(o *object) bool { return o.id.Kind == kindExecution })
	if i < 0 {
		if len(items) > 0 {
			f.add(s, "it has succeeded, and has no execution")
		}
		return
	}
	execution := s.world.children(s.id)[i]
	checkChild(f, s, execution)
	given := templatesOf(execution)
	if len(given) != len(items) {
		f.add(s, "it has succeeded, and %s has %d deploy items instead of %d", execution.id, len(given), len(items))
	}
	for _, item := range items {
		j := slices.IndexFunc(given, func(t lsv1alpha1.DeployItemTemplate) bool { return t.Name == item.Name })
		if j < 0 || given[j].Configuration == nil || !resembles(item.Config, jsonOf(given[j].Configuration.Raw)) {
			f.add(s, "it has succeeded, and deploy item %s of %s is not as the spec wants it", item.Name, execution.id)
		}
	}
}

// checkItems compares the deploy items of an execution with its spec.
func checkItems(f *findings, s step) {
	wanted := map[string]bool{}
	for _, template := range templatesOf(s.after) {
		wanted[template.Name] = true
		item := childNamed(s, kindDeployItem, template.Name)
		if item == nil {
			f.add(s, "it has succeeded, and has no deploy item %s", template.Name)
			continue
		}
		checkChild(f, s, item)
		config := typed[lsv1alpha1.DeployItem](item).Spec.Configuration
		if config == nil || template.Configuration == nil || !resembles(jsonOf(template.Configuration.Raw), jsonOf(config.Raw)) {
			f.add(s, "it has succeeded, and %s is not as the spec wants it", item.id)
		}
	}
	for _, item := range s.world.children(s.id) {
		if !wanted[item.name()] {
			f.add(s, "it has succeeded, and %s, which it does not ask for, still exists", item.id)
		}
	}
}

// checkContents compares the objects in the target with those in a deploy item.
func checkContents(f *findings, s step) {
	for id, content := range contentsOf(s.after) {
		switch deployed := s.world[id]; {
		case deployed == nil:
			f.add(s, "it has succeeded, and %s is not in the target", id)
		case !resembles(content, deployed.raw.Object["data"]):
			f.add(s, "it has succeeded, and %s has the content %v instead of %v", id, deployed.raw.Object["data"], content)
		}
	}
}

// checkChild ignores whether somebody has just requested another reconciliation of the child: that alone changes nothing.
func checkChild(f *findings, s step, child *object) {
	if !child.isSuccess() || !child.isUpToDate() || child.deleting() {
		f.add(s, "it has succeeded, and %s is %s", child.id, stateOf(child))
	}
}

func stateOf(o *object) string {
	return fmt.Sprintf(
		"in phase %q with generation %d, of which it has observed %d, and asked to %q",
		o.phase,
		o.generation,
		o.observed,
		operationOf(o),
	)
}

func childNamed(s step, kind, name string) *object {
	for _, child := range s.world.children(s.id) {
		if child.id.Kind == kind && child.name() == name {
			return child
		}
	}
	return nil
}
