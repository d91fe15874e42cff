// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package invariant

import (
	"slices"

	manifest "espalier.dev/api/deployer/manifest/v1alpha2"
	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/testkit"
)

// DeployedLabel marks, with any value, the objects that the manifests of a workload consist of.
const DeployedLabel = "faults.espalier.dev/deployed"

func isDeployed(o *object) bool {
	_, found := o.raw.GetLabels()[DeployedLabel]
	return found
}

// inventoriesAreComplete holds for every object in the target from its creation on: some deploy item lists it, until it is deleted or was
// left behind on purpose. Objects that a deploy item no longer requests are deleted after the requested ones are created.
func inventoriesAreComplete(history testkit.History) []Violation {
	f := &findings{rule: "I7"}
	kept := map[testkit.ObjectID]bool{}
	replay(history, func(s step) {
		switch {
		case s.ending: // An inventory goes with its namespace, while its deployer may still be at work.
		case s.id.Kind == kindDeployItem:
			checkInventory(f, s, kept)
		case s.isAboutDeployed():
			checkDeployed(f, s, kept)
		}
	})
	replayEnd(history, func(s step) {
		if s.id.Kind == kindDeployItem && s.after.isFinished() && s.after.isSuccess() {
			checkResult(f, s)
		}
	})
	return f.found
}

// isAboutDeployed reports whether the step is about an object in the target.
func (s step) isAboutDeployed() bool {
	return s.after != nil && isDeployed(s.after) || s.before != nil && isDeployed(s.before)
}

func checkDeployed(f *findings, s step, kept map[testkit.ObjectID]bool) {
	switch {
	case s.after == nil:
		checkPruning(f, s, kept)
	case s.before == nil && !isListed(s.world, s.id):
		f.add(s, "it was created, and no inventory lists it")
	}
}

// checkInventory checks what a deploy item no longer lists.
func checkInventory(f *findings, s step, kept map[testkit.ObjectID]bool) {
	if s.before == nil {
		return
	}
	for _, id := range inventoryOf(s.before) {
		if s.world[id] == nil || isListed(s.world, id) {
			continue
		}
		if s.after == nil && s.before.keepsInstalled() {
			kept[id] = true
			continue
		}
		f.add(s, "it no longer lists %s, which still exists and is listed nowhere else", id)
	}
}

// checkPruning checks an object that has just been deleted from the target.
func checkPruning(f *findings, s step, kept map[testkit.ObjectID]bool) {
	if kept[s.id] {
		f.add(s, "it was deleted although it was to be left installed")
	}
	items := s.world.where(func(o *object) bool { return o.id.Kind == kindDeployItem && slices.Contains(inventoryOf(o), s.id) })
	for _, item := range items {
		switch {
		case item.keepsInstalled():
			f.add(s, "it was deleted although %s is deleted without uninstalling", item.id)
		case !item.deleting():
			checkSuccession(f, s, item)
		}
	}
}

func checkSuccession(f *findings, s step, item *object) {
	for _, wanted := range manifestsOf(item) {
		if s.world[wanted] == nil && wanted != s.id {
			f.add(s, "it was pruned before %s, which %s asks for, was there", wanted, item.id)
		}
	}
}

func checkResult(f *findings, s step) {
	for _, wanted := range manifestsOf(s.after) {
		if s.world[wanted] == nil {
			f.add(s, "it has succeeded, and %s does not exist", wanted)
		}
	}
}

func isListed(w world, id testkit.ObjectID) bool {
	items := w.where(func(o *object) bool { return o.id.Kind == kindDeployItem && slices.Contains(inventoryOf(o), id) })
	return len(items) > 0
}

// inventoryOf returns the inventory of the manifest deployer.
func inventoryOf(o *object) []testkit.ObjectID {
	status := typed[lsv1alpha1.DeployItem](o).Status.ProviderStatus
	var known manifest.ProviderStatus
	if status == nil || !decode(status.Raw, &known) {
		return nil
	}
	var ids []testkit.ObjectID
	for _, managed := range known.ManagedResources {
		ids = append(ids, testkit.ObjectID{Kind: managed.Resource.Kind, Namespace: managed.Resource.Namespace, Name: managed.Resource.Name})
	}
	return ids
}

// manifestsOf returns the objects in a deploy item of the manifest deployer.
func manifestsOf(o *object) []testkit.ObjectID {
	spec := typed[lsv1alpha1.DeployItem](o).Spec
	var config manifest.ProviderConfiguration
	if spec.Type != lsv1alpha1.DeployItemTypeManifest || spec.Configuration == nil || !decode(spec.Configuration.Raw, &config) {
		return nil
	}
	var ids []testkit.ObjectID
	for _, wanted := range config.Manifests {
		if id, ok := idOf(wanted.Manifest.Raw); ok {
			ids = append(ids, id)
		}
	}
	return ids
}
