// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package installations_test

import (
	"slices"
	"strings"
	"testing"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/testkit"
)

// descriptor is the component shop, with a resource that does not exist.
const descriptor = `{"meta": {"schemaVersion": "v2"}, "component": {"name": "example.com/shop", "version": "1.0.0", "resources": [
	{"name": "size", "type": "schema", "version": "1.0.0", "access": {"type": "localBlob", "localReference": "size"}}]}}`

// withComponent is an installation with the component and its own Context.
func (w *world) withComponent(name, blueprint string) *lsv1alpha1.Installation {
	inst := w.installation(name, blueprint).Context("pinned").ImportData("base", "base").Reconcile().Build()
	inst.Spec.ComponentDescriptor = &lsv1alpha1.ComponentDescriptorDefinition{Inline: &lsv1alpha1.AnyJSON{Raw: []byte(descriptor)}}
	return inst
}

// complains waits until an installation reports what is missing and keeps retrying.
func (w *world) complains(name, about string) {
	w.Helper()
	inst := w.eventually(name, "without "+about, func(i *lsv1alpha1.Installation) bool {
		return i.Status.LastError != nil && strings.Contains(i.Status.LastError.Message, about)
	})
	if inst.Status.Phase.IsFinal() || slices.Contains(inst.Status.LastError.Codes, lsv1alpha1.ErrorConfigurationProblem) {
		w.Errorf("%s has given up: phase %s, %+v", name, inst.Status.Phase, inst.Status.LastError)
	}
}

// What an installation needs to find its component may be created after the installation.
func TestComponentsAreFoundThroughTheContext(t *testing.T) {
	w := newWorld(t)
	w.create(
		testkit.DataObject(w.namespace, "base", 1).Build(),
		w.withComponent("shop", header+imports("base")+deploy(item("one", "export: {name: {{ .cd.component.name }}}"))),
	)
	w.complains("shop", "spec.context: Context "+w.namespace+"/pinned does not exist: create it")

	context := testkit.Context(w.namespace, "pinned").Build()
	context.ComponentVersionOverwritesReference = "pins"
	w.create(context)
	w.complains("shop", "Context pinned: componentVersionOverwrites: there is no ComponentVersionOverwrites "+w.namespace+"/pins: create it")

	pins := &lsv1alpha1.ComponentVersionOverwrites{}
	pins.Namespace, pins.Name = w.namespace, "pins"
	w.create(pins)
	w.finished("shop", lsv1alpha1.PhaseSucceeded)
}

// Templates and schemas can read the resources of components. If no repository is named, that is an error which says so, and not a fault
// of the blueprint.
func TestResourcesOfComponentsAreAskedFor(t *testing.T) {
	w := newWorld(t)
	schema := strings.Replace(imports("base"), "schema: {}", "schema: {$ref: cd://resources/size}", 1)
	w.create(
		testkit.DataObject(w.namespace, "base", 1).Build(),
		testkit.Context(w.namespace, "pinned").Build(),
		w.withComponent("schema", header+schema),
		w.withComponent("content", header+imports("base")+deploy(item("one", `export: {size: {{ getResourceContent "cd://resources/size" }}}`))),
	)
	const said = "no repository is named: set repositoryContext in the reference or in the Context, a resolver in its ocmConfig, " +
		"or --default-repository-context"
	w.complains("schema", said)
	w.complains("content", said)
}
