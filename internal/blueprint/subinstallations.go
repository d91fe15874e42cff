// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package blueprint

import (
	"crypto/sha256"
	"encoding/base32"
	"errors"
	"fmt"
	"strings"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/component"
	"espalier.dev/internal/dataflow"
)

// Subinstallation is a nested installation that an installation needs.
type Subinstallation struct {
	// Name is its name in the blueprint, ObjectName that of the object, unless an object for it exists already.
	Name, ObjectName string
	Spec             lsv1alpha1.InstallationSpec
}

// SubinstallationName returns the name of the object for a nested installation. It is deterministic, so that creating the
// object twice creates one.
func SubinstallationName(parent, name string) string {
	sum := sha256.Sum256([]byte(parent + "/" + name))
	return name + "-" + strings.ToLower(base32.StdEncoding.EncodeToString(sum[:]))[:5]
}

// subinstallationsOf returns the nested installations: those that the blueprint lists, and those of its executions.
func (e *execution) subinstallationsOf(parent *lsv1alpha1.Installation, imports *dataflow.Imports) ([]Subinstallation, error) {
	templates, err := e.subinstallationTemplates(imports)
	if err != nil {
		return nil, err
	}
	templates = dataflow.DropUnsatisfied(templates, e.Blueprint.Imports, imports.Satisfied)
	if err := dataflow.ValidateSubinstallations(templates, e.Blueprint.Imports, imports.Satisfied); err != nil {
		return nil, err
	}
	var subs []Subinstallation
	for i := range templates {
		spec, err := e.specOf(parent, &templates[i])
		if err != nil {
			return nil, failed(dataflow.ReasonInvalidTemplate, fmt.Errorf("nested installation %s: %w", templates[i].Name, err))
		}
		subs = append(
			subs,
			Subinstallation{Name: templates[i].Name, ObjectName: SubinstallationName(parent.Name, templates[i].Name), Spec: spec},
		)
	}
	return subs, nil
}

func (e *execution) subinstallationTemplates(imports *dataflow.Imports) ([]lsv1alpha1.InstallationTemplate, error) {
	var templates []lsv1alpha1.InstallationTemplate
	for i := range e.Blueprint.Subinstallations {
		// DropUnsatisfied copies the templates: the blueprint is shared.
		templates = append(templates, *e.Blueprint.Subinstallations[i].InstallationTemplate)
	}
	for _, x := range e.Blueprint.subinstallations {
		output, err := e.run(x, dataflow.StateSubinstallation, map[string]any{"imports": imports.Values})
		if err != nil {
			return nil, err
		}
		var written []lsv1alpha1.InstallationTemplate
		if err := decodeList(output["subinstallations"], &written); err != nil {
			return nil, failed(dataflow.ReasonInvalidTemplate, fmt.Errorf("%s: subinstallations: %w", x, err))
		}
		templates = append(templates, written...)
	}
	return templates, nil
}

func (e *execution) specOf(parent *lsv1alpha1.Installation, t *lsv1alpha1.InstallationTemplate) (lsv1alpha1.InstallationSpec, error) {
	spec := lsv1alpha1.InstallationSpec{
		Context:            parent.Spec.Context,
		Flow:               parent.Spec.Flow,
		Verification:       parent.Spec.Verification.DeepCopy(),
		Imports:            t.Imports,
		ImportDataMappings: t.ImportDataMappings,
		Exports:            t.Exports,
		ExportDataMappings: t.ExportDataMappings,
		Optimization:       t.Optimization,
	}
	if t.Blueprint.Filesystem != nil && !t.Blueprint.Filesystem.IsNull() {
		spec.ComponentDescriptor = parent.Spec.ComponentDescriptor.DeepCopy()
		spec.Blueprint.Inline = &lsv1alpha1.InlineBlueprint{Filesystem: *t.Blueprint.Filesystem}
		return spec, nil
	}
	found, err := e.blueprintAt(t.Blueprint.Ref)
	if err != nil {
		return spec, fmt.Errorf("blueprint.ref: %w", err)
	}
	spec.Blueprint.Reference = &lsv1alpha1.RemoteBlueprintReference{ResourceName: found.Resource.Name}
	spec.ComponentDescriptor, err = e.Components.Inherit(found)
	return spec, err
}

// blueprintAt follows a path through the components to a blueprint.
func (e *execution) blueprintAt(ref string) (component.Resolution, error) {
	if e.Components == nil {
		return component.Resolution{}, errors.New(
			"the installation has no component for the blueprint: set spec.componentDescriptor, or define the blueprint inline",
		)
	}
	found, err := e.Components.ResolveURI(e.Components.Root(), ref)
	if err == nil && found.Resource == nil {
		err = fmt.Errorf("%s leads to a component, not to a resource", ref)
	}
	return found, err
}
