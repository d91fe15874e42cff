// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package blueprint

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/component"
	"espalier.dev/internal/template"
	"espalier.dev/internal/template/gotemplate"
	"espalier.dev/internal/template/spiff"
)

// executor is one template of a blueprint, ready to run. It is immutable.
type executor struct {
	// name is its name in the blueprint, possibly empty; where is its path in the blueprint.
	name, where string
	// allowMissingKeys allows a Go template to look up missing keys.
	allowMissingKeys bool
	// Exactly one of them is set.
	goTemplate *gotemplate.Template
	spiff      *spiff.Template
}

// functionNames are the functions that every template may call in addition to those of the engine.
var functionNames = slices.Sorted(slices.Values(slices.Concat(
	slices.Collect(maps.Keys(component.Functions(component.FunctionOptions{}))), slices.Collect(maps.Keys(clusterFunctions)))))

func compileExecutor(where string, e *lsv1alpha1.TemplateExecutor, files Files) (executor, error) {
	x := executor{name: e.Name, where: where, allowMissingKeys: e.AllowMissingKeys}
	source := template.Source{Execution: cmp.Or(e.Name, where), File: e.File}
	tree, isText, err := templateOf(e, files, &source)
	if err != nil {
		return x, invalid(fmt.Errorf("%s: %w", where, err))
	}
	switch {
	case e.Type == lsv1alpha1.TemplateTypeGo && !isText:
		return x, invalid(fmt.Errorf("%s.template: a GoTemplate must be a text; write it behind a |", where))
	case e.Type == lsv1alpha1.TemplateTypeGo:
		x.goTemplate, err = gotemplate.Compile(source, gotemplate.Options{Functions: functionNames})
	case isText:
		x.spiff, err = spiff.Compile(source, spiff.Options{})
	default:
		x.spiff, err = spiff.CompileTree(source, tree, spiff.Options{})
	}
	return x, err
}

// templateOf finds the template: a text, which it stores in source, or a tree.
func templateOf(e *lsv1alpha1.TemplateExecutor, files Files, source *template.Source) (tree any, isText bool, err error) {
	if e.File != "" {
		content, err := readFile(files, e.File)
		source.Text = string(content)
		return nil, true, err
	}
	if err := e.Template.Decode(&source.Text); err == nil {
		return nil, true, nil
	}
	tree, err = template.DecodeJSON(e.Template.Raw)
	return tree, false, err
}

// executorInput is the input of a template.
type executorInput struct {
	bindings  map[string]any
	functions map[string]component.Function
	files     Files
	// state is the state from the previous run; nil if there is none.
	state map[string]any
	// entropy is the entropy for generated values of the state; nil if there is no state.
	entropy *template.Entropy
	// declared are the names of imports that the blueprint declares.
	declared []string
	// allowNoValue allows missing values.
	allowNoValue bool
}

// run returns the output of the template without its state, and the state to keep.
func (x executor) run(in executorInput) (output, state map[string]any, err error) {
	if x.goTemplate != nil {
		return x.runGo(in)
	}
	functions := map[string]spiff.Function{}
	for name, f := range in.functions {
		functions[name] = func(arguments []any) (any, error) { return shown(f(arguments...)) }
	}
	result, err := x.spiff.Evaluate(spiff.Input{
		Bindings:  in.bindings,
		State:     in.state,
		Functions: functions,
		Files:     in.files,
		Entropy:   in.entropy,
	})
	if err != nil {
		return nil, nil, err
	}
	output, err = x.object(result.Value)
	return output, result.State, err
}

func (x executor) runGo(in executorInput) (output, state map[string]any, err error) {
	functions := map[string]any{}
	for name, f := range in.functions {
		functions[name] = func(arguments ...any) (any, error) { return shown(f(arguments...)) }
	}
	bindings := maps.Clone(in.bindings)
	if in.state != nil {
		bindings["state"] = in.state
	}
	made := generated{}
	value, err := x.goTemplate.RenderYAML(gotemplate.Input{
		Bindings: bindings, Functions: functions, Files: in.files, AllowNoValue: in.allowNoValue, Known: x.known(in.declared),
		Entropy: in.entropy, Generated: made.note})
	if err != nil {
		return nil, nil, err
	}
	output, err = x.object(value)
	if err != nil {
		return nil, nil, err
	}
	state, _ = output["state"].(map[string]any)
	delete(output, "state")
	if function := made.lost(output, state); function != "" {
		return nil, nil, failed(
			"TemplateFailed",
			fmt.Errorf("%s: the result of function %s must be stored, because it differs in each run: "+
				"also write it to the key state of the output, and reuse .state if it is set", x, function),
		)
	}
	return output, state, nil
}

// known returns the names that a Go template may look up even if they are missing: optional imports, and what only some
// installations have. Any other missing name is a mistake.
func (x executor) known(declared []string) map[string][]string {
	if x.allowMissingKeys {
		return nil
	}
	return map[string][]string{
		"":        {"cd", "components", "blueprint", "blueprintDef", "componentDescriptorDef", "state"},
		"imports": declared,
		"values":  nil,
		"cd":      {"signatures", "nestedDigests", "metadata", "repositoryContexts", "labels"},
	}
}

// declaredNames returns the names of imports, including conditional ones.
func declaredNames(imports []lsv1alpha1.ImportDefinition) []string {
	var names []string
	for i := range imports {
		names = append(append(names, imports[i].Name), declaredNames(imports[i].ConditionalImports)...)
	}
	return names
}

// shown allows users to see the error of a function: errors of functions over components never contain values of imports.
func shown(result any, err error) (any, error) {
	if err != nil {
		return nil, template.Problemf("%s", err.Error())
	}
	return result, nil
}

func (x executor) object(output any) (map[string]any, error) {
	switch o := output.(type) {
	case nil:
		return map[string]any{}, nil
	case map[string]any:
		return o, nil
	default:
		return nil, failed("TemplateFailed", fmt.Errorf("%s: the template must yield an object, not %s", x, template.TypeName(output)))
	}
}

// String returns the name of the executor in errors.
func (x executor) String() string {
	if x.name == "" {
		return x.where
	}
	return fmt.Sprintf("%s (%s)", x.where, x.name)
}
