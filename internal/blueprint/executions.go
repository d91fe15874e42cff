// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package blueprint

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"strings"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/component"
	"espalier.dev/internal/dataflow"
	"espalier.dev/internal/failure"
	"espalier.dev/internal/lru"
	"espalier.dev/internal/template"
)

// States are the values that templates store for their next run, by the kind of execution and the name of the template.
type States map[dataflow.StateKind]map[string]map[string]any

func (s States) set(kind dataflow.StateKind, executor string, state map[string]any) {
	if s[kind] == nil {
		s[kind] = map[string]map[string]any{}
	}
	s[kind][executor] = state
}

// Within reports whether before contains all of the states, unchanged.
func (s States) Within(before States) bool {
	for kind, executors := range s {
		for executor, state := range executors {
			if known, found := before[kind][executor]; !found || !reflect.DeepEqual(state, known) {
				return false
			}
		}
	}
	return true
}

// Subject is the installation that a blueprint is rendered for.
type Subject struct {
	Blueprint *Blueprint
	// Revision is the digest or commit of a blueprint from an OCI artifact or a Git repository.
	Revision string
	// Definition and Component are spec.blueprint and spec.componentDescriptor of the installation.
	Definition lsv1alpha1.BlueprintDefinition
	Component  *lsv1alpha1.ComponentDescriptorDefinition
	// Components is the component of the installation with all its references; nil if it names none.
	Components *component.Set
	// Overwritten describes to users how overwrites have changed the component that the installation names; empty if
	// they have not.
	Overwritten string
	// Verified reports whether the signature of the component was verified, and covers the blueprint.
	Verified bool
	// Content provides the content of resources to templates; nil if they may not request it.
	Content component.ContentProvider
	// States are the states from the previous run.
	States States
	// Entropy is the entropy for values that templates generate and keep in their states; nil if they cannot.
	Entropy *template.Entropy
	// Answers are the clusters' answers to calls of templates; nil if no cluster is called.
	Answers Answers
}

// blueprintName returns the name of the blueprint for users.
func (s *Subject) blueprintName() string {
	switch {
	case s.Definition.OCI != nil:
		return "blueprint " + s.Definition.OCI.Reference
	case s.Definition.Git != nil:
		return "blueprint " + s.Definition.Git.Path + " at revision " + s.Definition.Git.Revision
	case s.Definition.Reference == nil:
		return "the inline blueprint"
	case s.Components == nil:
		return fmt.Sprintf("blueprint %q", s.Definition.Reference.ResourceName)
	}
	return fmt.Sprintf("blueprint %q of component %s", s.Definition.Reference.ResourceName, s.Components.Root().ID())
}

// execution is one run of all executions of a subject.
type execution struct {
	*Subject
	bindings  map[string]any
	functions map[string]component.Function
	kept      States
	// unread is the error of a resource whose content could not be read, if a retry may help.
	unread error
	// asked is the call of a template whose answer is unknown; nil if there is none.
	asked *Unanswered
}

func (e *Engine) newExecution(s *Subject) (*execution, error) {
	schema := component.SchemaV2
	x := &execution{Subject: s, bindings: map[string]any{}, kept: States{}}
	if s.Components != nil {
		var err error
		if schema, err = component.SchemaFor(s.Blueprint.Annotations, s.Components.Root()); err != nil {
			return nil, invalid(err)
		}
		x.bindings["cd"] = s.Components.Root().View(schema)
		x.bindings["components"] = s.Components.View(schema)
	}
	x.functions = component.Functions(component.FunctionOptions{Set: s.Components, Schema: schema, Content: x.provider()})
	return x, e.bindDefinitions(x)
}

// provider returns the content provider of the subject. It records failures of a repository, because a template error
// contains only their text and looks like an error of the template.
func (e *execution) provider() component.ContentProvider {
	if e.Content == nil {
		return nil
	}
	return func(of *component.Descriptor, access component.Access) (component.Content, error) {
		content, err := e.Content(of, access)
		if err != nil && failure.KindOf(err) != failure.Terminal {
			e.unread = err
		}
		return content, err
	}
}

// bindDefinitions makes the installation's definitions of its blueprint and component visible to templates. Inline trees,
// which may be large, are converted once and shared: templates do not modify their bindings.
func (e *Engine) bindDefinitions(x *execution) error {
	definition, err := plainBlueprint(x.Subject)
	if err != nil {
		return err
	}
	x.bindings["blueprint"], x.bindings["blueprintDef"] = definition, definition
	x.bindings["componentDescriptorDef"], err = e.plainComponent(x.Component)
	return err
}

func plainBlueprint(s *Subject) (any, error) {
	inline, tree := s.Definition.Inline, s.Blueprint.tree
	if inline == nil || tree == nil || s.Definition.Reference != nil || !bytes.Equal(inline.Filesystem.Raw, tree.text) {
		return plainOf(s.Definition)
	}
	return map[string]any{"inline": map[string]any{"filesystem": tree.plain}}, nil
}

func (e *Engine) plainComponent(c *lsv1alpha1.ComponentDescriptorDefinition) (any, error) {
	if c == nil || c.Reference != nil || c.Inline == nil || c.Inline.IsNull() {
		return plainOf(c)
	}
	text := c.Inline.Raw
	descriptor, err := e.descriptors.Get(lru.KeyOf([]byte("descriptor"), text), func() (any, int, error) {
		plain, err := template.DecodeJSON(text)
		return plain, len(text) * compiledFactor, err
	})
	if err != nil {
		return nil, invalid(fmt.Errorf("spec.componentDescriptor.inline: %w", err))
	}
	return map[string]any{"inline": descriptor}, nil
}

// plainOf converts an API value to the form that templates see.
func plainOf(value any) (any, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("prepare the bindings: %w", err)
	}
	return template.DecodeJSON(text)
}

// run executes one template with additional bindings, and records its state.
func (e *execution) run(x executor, kind dataflow.StateKind, more map[string]any) (map[string]any, error) {
	bindings := maps.Clone(e.bindings)
	maps.Copy(bindings, more)
	in := executorInput{bindings: bindings, functions: e.functions, files: e.Blueprint.Files,
		declared: declaredNames(e.Blueprint.Imports), allowNoValue: kind == ""}
	if kind != "" {
		in.state = e.States[kind][x.name]
		in.entropy = e.entropy(kind, x.name)
	}
	e.unread = nil
	output, state, err := x.run(in)
	if e.asked != nil { // even if the template has worked around it
		return nil, e.asked
	}
	if err != nil && e.unread != nil {
		return nil, failure.NewRetryable(failure.DetailsOf(e.unread), err)
	}
	if err != nil {
		return nil, err
	}
	if kind != "" && state != nil {
		e.kept.set(kind, x.name, state)
	}
	return output, nil
}

// entropy returns the entropy of one template. It is independent of that of other templates.
func (e *execution) entropy(kind dataflow.StateKind, name string) *template.Entropy {
	if e.Entropy == nil {
		return nil
	}
	return e.Entropy.For(string(kind) + "/" + name)
}

// addBindings runs the import executions: their bindings are added to the imports, and their errors end the job.
func (e *execution) addBindings(imports *dataflow.Imports) error {
	for _, x := range e.Blueprint.imports {
		output, err := e.run(x, "", map[string]any{"imports": imports.Values})
		if err != nil {
			return err
		}
		if complaints := texts(output["errors"]); len(complaints) > 0 {
			return failed("ImportsRejected", fmt.Errorf("%s: the blueprint rejects the imports: %s", x, strings.Join(complaints, "; ")))
		}
		bound, _ := output["bindings"].(map[string]any)
		maps.Copy(imports.Values, bound)
	}
	return nil
}

// texts converts the errors of a template to messages. The blueprint's author writes them for users.
func texts(value any) []string {
	items, isList := value.([]any)
	if !isList && value != nil {
		items = []any{value}
	}
	var all []string
	for _, item := range items {
		all = append(all, fmt.Sprint(item))
	}
	return all
}

// failed returns the error of a template or its result, which no retry can fix.
func failed(reason string, err error) error {
	return failure.NewTerminal(failure.Details{
		Operation: "RenderBlueprint", Reason: reason, Codes: []string{string(lsv1alpha1.ErrorConfigurationProblem)},
	}, err)
}
