// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package blueprint

import (
	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/dataflow"
	"espalier.dev/internal/lru"
	"espalier.dev/internal/schema"
	"espalier.dev/internal/template/spiff"
)

// Engine renders blueprints. It caches blueprints with their compiled templates, compiled data mappings and compiled schemas
// by content. It is safe for concurrent use.
//
// Its results belong to the caller, except the blueprint: they share no memory with the caches, and no mutable memory with
// the input, except the Targets that imports refer to.
type Engine struct {
	schemas    *schema.Compiler
	blueprints *lru.Cache[*Blueprint]
	mappings   *lru.Cache[*spiff.Template]
	// descriptors are inline component descriptors in the form that templates see.
	descriptors *lru.Cache[any]
}

// NewEngine returns an engine for a whole process.
func NewEngine() *Engine {
	return &Engine{
		schemas:     schema.NewCompiler(schema.DefaultLimits(), schema.DefaultCacheBytes),
		blueprints:  lru.NewCache[*Blueprint](blueprintCacheBytes),
		mappings:    lru.NewCache[*spiff.Template](mappingCacheBytes),
		descriptors: lru.NewCache[any](descriptorCacheBytes),
	}
}

// Input is an installation with everything that its objects depend on.
type Input struct {
	Subject
	Installation *lsv1alpha1.Installation
	Scope        dataflow.Scope
	// Facts are the objects in which the imports were looked up.
	Facts dataflow.Facts
	// Schemas finds schemas in components; nil if there are none.
	Schemas schema.Finder
}

// Output is what an installation needs.
type Output struct {
	// Resolved are the imports of the installation, Imports those of the blueprint.
	Resolved         dataflow.Resolved
	Imports          *dataflow.Imports
	DeployItems      []lsv1alpha1.DeployItemTemplate
	Subinstallations []Subinstallation
	// States must be stored for the next run.
	States   States
	Warnings []string
}

// Render returns the objects that an installation needs. It returns either a complete result, or an error and only the states that
// templates have left until then: the error may quote their values.
func (e *Engine) Render(in Input) (*Output, error) {
	out := &Output{Warnings: in.Blueprint.Warnings}
	run, err := e.prepare(in, out)
	if err != nil {
		return &Output{}, err
	}
	if out.DeployItems, err = run.deployItems(in.Installation.Namespace, out.Imports); err != nil {
		return &Output{States: run.kept}, err
	}
	if out.Subinstallations, err = run.subinstallationsOf(in.Installation, out.Imports); err != nil {
		return &Output{States: run.kept}, err
	}
	out.States = run.kept
	return out, nil
}

// Exports returns the exports of an installation whose objects have all succeeded, and also after an error the states that templates have
// left.
func (e *Engine) Exports(in Input, values ExportValues) (*dataflow.Exports, States, error) {
	out := &Output{}
	run, err := e.prepare(in, out)
	if err != nil {
		return nil, nil, err
	}
	given, err := run.exportValues(out.Imports.Values, values)
	if err != nil {
		return nil, run.kept, err
	}
	exports, err := e.ExportsOf(in, given)
	return exports, run.kept, err
}

// ExportsOf returns the exports of an installation for given results of its export executions.
func (e *Engine) ExportsOf(in Input, given map[string]any) (*dataflow.Exports, error) {
	return dataflow.BuildExports(dataflow.ExportInput{
		Installation: in.Installation.Namespace + "/" + in.Installation.Name,
		Blueprint:    in.blueprintName(),
		Definitions:  in.Blueprint.Blueprint.Exports,
		Values:       given,
		Exports:      in.Installation.Spec.Exports,
		Mappings:     in.Installation.Spec.ExportDataMappings,
		Map:          e.mapper(exportDataMappings),
		Validate:     e.Validator(in),
	})
}

// prepare determines the values of the imports, which all executions see.
func (e *Engine) prepare(in Input, out *Output) (*execution, error) {
	var err error
	if out.Resolved, err = dataflow.Resolve(in.Scope, in.Installation.Spec.Imports, in.Facts); err != nil {
		return nil, err
	}
	out.Imports, err = dataflow.Construct(dataflow.ImportInput{
		Definitions: in.Blueprint.Blueprint.Imports,
		Resolved:    out.Resolved,
		Mappings:    in.Installation.Spec.ImportDataMappings,
		Map:         e.mapper(importDataMappings),
		Validate:    e.Validator(in),
	})
	if err != nil {
		return nil, err
	}
	out.Warnings = append(append([]string(nil), out.Warnings...), out.Imports.Warnings...)
	run, err := e.newExecution(&in.Subject)
	if err != nil {
		return nil, err
	}
	run.addClusterFunctions(out.Imports)
	return run, run.addBindings(out.Imports)
}

// Validator validates values with the schemas of the blueprint.
func (e *Engine) Validator(in Input) dataflow.Validator {
	sources := in.Blueprint.schemaSources()
	sources.Resources = in.Schemas
	if in.Components != nil {
		sources.Component = in.Components.Root().ID().String()
	}
	return func(what string, text lsv1alpha1.AnyJSON, value any) error {
		return e.schemas.Validate(what, text.Raw, sources, value)
	}
}

// schemaSources returns the sources for references in the blueprint's schemas, except components.
func (b *Blueprint) schemaSources() schema.Sources {
	sources := schema.Sources{Draft: b.JSONSchemaVersion, LocalTypes: map[string][]byte{}, Files: b.Files}
	for name, local := range b.LocalTypes {
		sources.LocalTypes[name] = local.Raw
	}
	return sources
}
