// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package installations_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/oci"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/components"
	"espalier.dev/internal/testkit/registry"
)

// shelfWith returns the address of a registry whose component has, in each version, a deploy item of the given name.
func shelfWith(t *testing.T, items map[string]string) string {
	t.Helper()
	server := registry.Start(t, registry.Options{})
	for version, name := range items {
		components.Component{
			Name: "example.com/app", Version: version,
			Resources: []components.Resource{components.Blueprint(t, "blueprint", map[string]string{"blueprint.yaml": header + deploy(item(name))})},
		}.Push(t, components.Store(t, server, oci.Credential{}))
	}
	return server.URL
}

func registryAt(url string) map[string]string {
	return map[string]string{"type": "OCIRegistry", "baseUrl": url}
}

// The controllers' flag decides where components are if neither the installation nor its Context does.
func TestTheDefaultRepositoryIsTheLastOne(t *testing.T) {
	byFlag := shelfWith(t, map[string]string{"1.0.0": "flag", "2.0.0": "pinned"})
	byContext := shelfWith(t, map[string]string{"1.0.0": "context"})
	byInstallation := shelfWith(t, map[string]string{"1.0.0": "installation"})
	w := idleWorld(t)
	w.Options.Registries.DefaultRepositoryContext = byFlag
	w.Manage()
	pinning := testkit.Context(w.namespace, "pinning").Build()
	pinning.ComponentVersionOverwritesReference = "pins"
	// An overwrite treats the default repository like one that the installation names.
	where := testkit.Context(w.namespace, "").Repository(registryAt(byFlag)).Build().RepositoryContext
	pins := &lsv1alpha1.ComponentVersionOverwrites{Overwrites: []lsv1alpha1.ComponentVersionOverwrite{{
		Source:       lsv1alpha1.ComponentVersionOverwriteReference{RepositoryContext: where},
		Substitution: lsv1alpha1.ComponentVersionOverwriteReference{Version: "2.0.0"},
	}}}
	pins.Namespace, pins.Name = w.namespace, "pins"
	w.create(
		testkit.Context(w.namespace, "silent").Build(),
		testkit.Context(w.namespace, "shelf").Repository(registryAt(byContext)).Build(),
		pinning, pins,
	)
	app := func(name, context string) *lsv1alpha1.Installation {
		return testkit.Installation(w.namespace, name).BlueprintRef("blueprint").Component("example.com/app", "1.0.0").
			Context(context).Reconcile().Build()
	}
	exact := app("exact", "shelf")
	exact.Spec.ComponentDescriptor.Reference.RepositoryContext = testkit.Context(w.namespace, "").
		Repository(registryAt(byInstallation)).Build().RepositoryContext
	w.create(app("nowhere", "silent"), app("somewhere", "shelf"), exact, app("pinned", "pinning"))
	for _, name := range []string{"nowhere", "somewhere", "exact", "pinned"} {
		done := w.finished(name, lsv1alpha1.PhaseSucceeded)
		want := ""
		if name == "pinned" {
			want = "version: 1.0.0 -> 2.0.0"
		}
		if got := condition(done, lsv1alpha1.ConditionComponentReferenceOverwrite).Message; got != want {
			t.Errorf("%s: overwritten is %q, want %q", name, got, want)
		}
	}
	if diff := cmp.Diff([]string{"context", "flag", "installation", "pinned"}, slices.Sorted(maps.Keys(w.items()))); diff != "" {
		t.Error(diff)
	}
}
