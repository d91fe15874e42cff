// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package invariant

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/testkit"
)

// inOrder holds for every job that a deploy item or an execution is given, and for every deletion of a deploy item.
func inOrder(history testkit.History) []Violation {
	f := &findings{rule: "I5"}
	replay(history, func(s step) {
		if s.after == nil || !s.after.runs() {
			return
		}
		switch item := s.id.Kind == kindDeployItem; {
		case item && begins(s):
			checkDependencies(f, s)
		case item && dies(s) && !s.ending:
			checkDependents(f, s)
		case begins(s):
			checkPredecessors(f, s)
		}
	})
	return f.found
}

// begins reports whether the step passes down a job that is not a deletion. An interrupt ends the job of a deploy item that never had it,
// in the write that gives it to the deploy item; that is not a start.
func begins(s step) bool { return s.changed(jobOf) && !s.after.isFinished() && !s.after.deleting() }

func dies(s step) bool { return s.after.deleting() && (s.before == nil || !s.before.deleting()) }

// inContinuousOrder holds for every deploy item that is created or gets another spec in the continuous flow: what it depends on has
// succeeded in its current state. And it holds for the first execution of a nested installation: what that imports from siblings exists.
func inContinuousOrder(history testkit.History) []Violation {
	f := &findings{rule: "C5"}
	succeeded := map[types.UID]bool{}
	replay(history, func(s step) {
		if s.after == nil || !s.after.isContinuous() {
			return
		}
		if s.id.Kind == kindInstallation && s.after.isSuccess() {
			succeeded[s.after.raw.GetUID()] = true
		}
		if id, found := s.after.parent(); found && s.world[id] != nil && isWritten(s) {
			checkWritten(f, s, s.world[id], succeeded)
		}
	})
	return f.found
}

// isWritten reports whether a step creates an object that is not being deleted, or changes its spec.
func isWritten(s step) bool {
	return !s.after.deleting() && (s.before == nil || s.before.generation != s.after.generation)
}

func checkWritten(f *findings, s step, parent *object, succeeded map[types.UID]bool) {
	switch {
	case s.id.Kind == kindDeployItem:
		checkNeeds(f, s, parent)
	case s.id.Kind == kindExecution && s.before == nil && !forced(parent):
		checkExporters(f, s, parent, succeeded)
	}
}

func checkNeeds(f *findings, s step, execution *object) {
	needs, _ := dependenciesOf(execution, s.after.name())
	for _, sibling := range s.world.children(execution.id) {
		if slices.Contains(needs, sibling.name()) && (!sibling.isSuccess() || !sibling.isUpToDate()) {
			f.add(s, "it is written, and %s, which it depends on, is %s", sibling.id, stateOf(sibling))
		}
	}
}

func checkExporters(f *findings, s step, importer *object, succeeded map[types.UID]bool) {
	level, nested := importer.parent()
	imports := importsOf(importer)
	for _, sibling := range s.world.children(level) {
		shared := slices.ContainsFunc(exportsOf(sibling), func(name string) bool { return slices.Contains(imports, name) })
		if nested && sibling.id != importer.id && shared && !succeeded[sibling.raw.GetUID()] {
			f.add(s, "it is written, and %s, which exports what %s imports, has never succeeded", sibling.id, importer.id)
		}
	}
}

func checkDependencies(f *findings, s step) {
	id, found := s.after.parent()
	if !found || s.world[id] == nil {
		return
	}
	siblings := s.world.children(id)
	needs, _ := dependenciesOf(s.world[id], s.after.name())
	for _, name := range needs {
		i := slices.IndexFunc(siblings, func(o *object) bool { return o.name() == name })
		switch {
		case i < 0:
			f.add(s, "it gets job %s, and %s, which it depends on, does not exist", s.after.job, name)
		case !siblings[i].hasDone(s.after.job):
			f.add(s, "it gets job %s, and %s, which it depends on, has job %s, finished %q, in phase %q",
				s.after.job, siblings[i].id, siblings[i].job, siblings[i].finished, siblings[i].phase)
		}
	}
}

// dependenciesOf returns what a deploy item of an execution depends on, and whether the execution has the deploy item at all.
func dependenciesOf(execution *object, item string) ([]string, bool) {
	spec := typed[lsv1alpha1.Execution](execution).Spec
	templates, err := spec.Items()
	if err != nil {
		return nil, false
	}
	for _, template := range templates {
		if template.Name == item {
			return template.DependsOn, true
		}
	}
	return nil, false
}

// checkDependents uses the annotations of deploy items that the execution no longer has, and the spec for the others: it may have changed,
// and a former dependency need not be one any more.
func checkDependents(f *findings, s step) {
	id, found := s.after.parent()
	if !found {
		return
	}
	for _, sibling := range s.world.children(id) {
		needs := strings.Split(sibling.annotation(lsv1alpha1.ExecutionDependsOnAnnotation), ",")
		if execution := s.world[id]; execution != nil && !execution.deleting() {
			if current, known := dependenciesOf(execution, sibling.name()); known {
				needs = current
			}
		}
		if sibling.id != s.id && slices.Contains(needs, s.after.name()) {
			f.add(s, "it is deleted while %s, which depends on it, exists", sibling.id)
		}
	}
}

// checkPredecessors checks the installation that passes the job down: its siblings that export what it imports have succeeded.
func checkPredecessors(f *findings, s step) {
	id, found := s.after.parent()
	giver := s.world[id]
	if !found || giver == nil {
		return
	}
	parent, nested := giver.parent()
	if !nested {
		return
	}
	imports := importsOf(giver)
	for _, sibling := range s.world.children(parent) {
		shared := slices.ContainsFunc(exportsOf(sibling), func(name string) bool { return slices.Contains(imports, name) })
		if sibling.id.Kind == kindInstallation && sibling.id != id && shared && !sibling.hasDone(s.after.job) {
			f.add(s, "it gets job %s from %s, whose predecessor %s has job %s, finished %q, in phase %q",
				s.after.job, id, sibling.id, sibling.job, sibling.finished, sibling.phase)
		}
	}
}

func importsOf(o *object) []string {
	var names []string
	imports := typed[lsv1alpha1.Installation](o).Spec.Imports
	for _, data := range imports.Data {
		names = append(names, data.DataRef)
	}
	for _, target := range imports.Targets {
		names = append(names, target.Target)
	}
	return names
}

func exportsOf(o *object) []string {
	if o.id.Kind != kindInstallation {
		return nil
	}
	var names []string
	exports := typed[lsv1alpha1.Installation](o).Spec.Exports
	for _, data := range exports.Data {
		names = append(names, data.DataRef)
	}
	for _, target := range exports.Targets {
		names = append(names, target.Target)
	}
	return names
}
