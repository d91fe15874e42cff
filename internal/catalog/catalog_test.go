// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/blueprint"
	"espalier.dev/internal/component"
	"espalier.dev/internal/component/resolve"
	"espalier.dev/internal/failure"
)

func TestNothingButAnInlineBlueprint(t *testing.T) {
	inst := installation(t, inlineBlueprint+"\ncomponentDescriptor: {inline: null}")
	in, err := New(blueprint.NewEngine()).Find(t.Context(), Request{Installation: inst})
	if err != nil {
		t.Fatal(err)
	}
	if in.Installation != inst {
		t.Errorf("the installation is %+v", in.Installation)
	}
	if diff := cmp.Diff(parts{Blueprint: true, Component: true}, partsOf(in)); diff != "" {
		t.Errorf("what there is (-want +got):\n%s", diff)
	}
}

// parts describes the content of an input.
type parts struct {
	Blueprint  bool
	Reference  bool
	Component  bool
	Components bool
	Schemas    bool
	Content    bool
}

func partsOf(in blueprint.Input) parts {
	return parts{
		Blueprint:  in.Blueprint != nil,
		Reference:  in.Definition.Reference != nil,
		Component:  in.Component != nil,
		Components: in.Components != nil,
		Schemas:    in.Schemas != nil,
		Content:    in.Content != nil,
	}
}

func TestComponentInARepository(t *testing.T) {
	s := newShelf(t)
	in, err := New(blueprint.NewEngine()).Find(t.Context(), Request{
		Installation: installation(t, refBlueprint+refComponent),
		Repository:   s.repository(),
	})
	if err != nil {
		t.Fatal(err)
	}
	all := parts{Blueprint: true, Reference: true, Component: true, Components: true, Schemas: true, Content: true}
	if diff := cmp.Diff(all, partsOf(in)); diff != "" {
		t.Fatalf("what there is (-want +got):\n%s", diff)
	}
	if root := in.Components.Root().ID().String(); root != "app:1.0.0" {
		t.Errorf("the component is %s", root)
	}
	found, err := in.Schemas("cd://componentReferences/below/resources/size")
	if err != nil || string(found.Content) != `{"type": "integer"}` || found.Component != "base:1.0.0" {
		t.Errorf("got %s of %s, %v", found.Content, found.Component, err)
	}
	if again, err := found.Resources("cd://resources/size"); err != nil || string(again.Content) != `{"type": "integer"}` {
		t.Errorf("from there: got %s, %v", again.Content, err)
	}
	base := in.Components.All()[1]
	content, err := in.Content(base, base.Resources[0].Access)
	if err != nil || string(content.Data) != `{"type": "integer"}` {
		t.Errorf("got %s, %v", content.Data, err)
	}
}

// The Context provides the default repository of components, and its overwrites redirect them.
func TestContextsAndOverwrites(t *testing.T) {
	const home, away = "repositoryContext: {type: r, baseUrl: home}", "repositoryContext: {type: r, baseUrl: away}"
	for name, test := range map[string]struct {
		component string
		context   string
		rules     string
		want      []string
	}{
		"no Context":         {"{ref: {componentName: app, version: 1.0.0}}", "", "", []string{"app:1.0.0", "base:1.0.0"}},
		"a Context":          {"{ref: {componentName: app, version: 1.0.0}}", home, "", []string{"app:1.0.0 in home", "base:1.0.0 in home"}},
		"a repository":       {"{ref: {componentName: app, version: 1.0.0, " + away + "}}", home, "", []string{"app:1.0.0 in away", "base:1.0.0 in away"}},
		"overwrites":         {"{ref: {componentName: app, version: 1.0.0}}", pinned, newerBase, []string{"app:1.0.0", "base:2.0.0"}},
		"unnamed overwrites": {"{ref: {componentName: app, version: 1.0.0}}", home, newerBase, []string{"app:1.0.0 in home", "base:1.0.0 in home"}},
		"inline": {"{inline: {meta: {schemaVersion: v2}, component: {name: mine, version: 1.0.0, componentReferences: [{name: b, componentName: base, version: 1.0.0}]}}}",
			home, "", []string{"mine:1.0.0 in home", "base:1.0.0 in home"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newShelf(t)
			r := Request{Installation: installation(t, inlineBlueprint+"\ncomponentDescriptor: "+test.component), Repository: s.repository()}
			if test.context != "" {
				r.Context = contextOf(t, test.context)
			}
			if test.rules != "" {
				r.Overwrites = pins(t, test.rules)
			}
			in, err := New(blueprint.NewEngine()).Find(t.Context(), r)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, d := range in.Components.All() {
				got = append(got, in.Components.Origin(d).String())
			}
			if difference := cmp.Diff(test.want, got); difference != "" {
				t.Error(difference)
			}
		})
	}
}

// An overwrite of the component that an installation names is reported; overwrites of those below are not.
func TestOverwrittenComponents(t *testing.T) {
	const elsewhere = "{source: {componentName: app}, substitution: {repositoryContext: {type: r, baseUrl: away}}}"
	for name, test := range map[string]struct{ component, rule, want string }{
		"the root":    {refComponent, elsewhere, "repositoryContext: no repository -> away"},
		"below it":    {refComponent, newerBase, ""},
		"to itself":   {refComponent, "{source: {componentName: app}, substitution: {version: 1.0.0}}", ""},
		"a given one": {"\ncomponentDescriptor: {inline: {meta: {schemaVersion: v2}, component: {name: app, version: 1.0.0}}}", newerBase, ""},
		"none":        {"", elsewhere, ""},
	} {
		r := Request{
			Installation: installation(t, inlineBlueprint+test.component), Repository: newShelf(t).repository(),
			Context: contextOf(t, pinned), Overwrites: pins(t, test.rule),
		}
		if in, err := New(blueprint.NewEngine()).Find(t.Context(), r); err != nil || in.Overwritten != test.want {
			t.Errorf("%s: %q, %v, want %q", name, in.Overwritten, err, test.want)
		}
	}
}

func TestFaults(t *testing.T) {
	const inlineApp = "\ncomponentDescriptor: {inline: {meta: {schemaVersion: v2}, component: {name: app, version: 1.0.0, resources: [{name: installer, type: b, version: 1.0.0, access: {type: none}}]}}}"
	for name, test := range map[string]struct {
		spec, context string
		rules         []string
		nowhere       bool
		broken        error
		kind          failure.Kind
		reason        string
		want          string
	}{
		"no blueprint": {
			spec:   refComponent,
			kind:   failure.Terminal,
			reason: ReasonBlueprintInvalid,
			want:   "spec.blueprint: set exactly one of ref, inline, oci and git",
		},
		"two blueprints": {
			spec:   refComponent + "\nblueprint: {ref: {resourceName: a}, inline: {filesystem: {}}}",
			kind:   failure.Terminal,
			reason: ReasonBlueprintInvalid,
			want:   "spec.blueprint: set exactly one",
		},
		"a broken blueprint": {
			spec:   "blueprint: {inline: {filesystem: {blueprint.yaml: 'kind: Other'}}}",
			kind:   failure.Terminal,
			reason: "InvalidBlueprint",
			want:   "spec.blueprint.inline.filesystem: ",
		},
		"a blueprint of nothing": {
			spec:   refBlueprint,
			kind:   failure.Terminal,
			reason: ReasonBlueprintInvalid,
			want:   "spec.blueprint.ref: the installation has no component",
		},
		"no such resource": {
			spec:   "blueprint: {ref: {resourceName: nothing}}" + refComponent,
			kind:   failure.Terminal,
			reason: ReasonBlueprintInvalid,
			want:   "spec.blueprint.ref.resourceName: ",
		},
		"no such blueprint": {
			spec:   "blueprint: {ref: {resourceName: gone}}" + refComponent,
			kind:   failure.Retryable,
			reason: ReasonBlueprintNotFound,
			want:   "spec.blueprint.ref.resourceName: the shelf has no blueprint gone",
		},
		"no such component": {
			spec:   inlineBlueprint + "\ncomponentDescriptor: {ref: {componentName: app, version: 9.0.0}}",
			kind:   failure.Retryable,
			reason: ReasonComponentNotFound,
			want:   "spec.componentDescriptor: component app:9.0.0: ",
		},
		"a broken repository": {
			spec:   inlineBlueprint + refComponent,
			broken: errors.New("connection refused"),
			kind:   failure.Retryable,
			reason: ReasonRepositoryUnavailable,
			want:   "spec.componentDescriptor: ",
		},
		"a repository that knows": {
			spec:   inlineBlueprint + refComponent,
			broken: failure.Terminalf(failure.Details{Operation: "Read", Reason: "Unauthorized"}, "no access"),
			kind:   failure.Terminal,
			reason: "Unauthorized",
			want:   "no access",
		},
		"a repository that waits": {
			spec:   inlineBlueprint + refComponent,
			broken: &failure.Wait{Reason: "WaitingForRegistry", For: "the registry"},
			kind:   failure.Waiting,
			reason: "WaitingForRegistry",
			want:   "waiting for the registry",
		},
		"no repository": {
			spec:    inlineBlueprint + refComponent,
			nowhere: true,
			kind:    failure.Retryable,
			reason:  ReasonComponentNotFound,
			want:    "no repository to read from",
		},
		"nowhere to get it from": {
			spec:    refBlueprint + inlineApp,
			nowhere: true,
			kind:    failure.Retryable,
			reason:  ReasonBlueprintNotFound,
			want:    "the blueprint installer of component app:1.0.0 cannot be read: no repository",
		},
		"no component name": {
			spec:   inlineBlueprint + "\ncomponentDescriptor: {ref: {componentName: '', version: 1.0.0}}",
			kind:   failure.Terminal,
			reason: ReasonComponentInvalid,
			want:   "spec.componentDescriptor: a component needs a name and a version",
		},
		"a wrong repository": {
			spec:   inlineBlueprint + "\ncomponentDescriptor: {ref: {componentName: app, version: 1.0.0, repositoryContext: {}}}",
			kind:   failure.Terminal,
			reason: ReasonComponentInvalid,
			want:   "spec.componentDescriptor.ref: a repository context needs a type",
		},
		"a wrong descriptor": {
			spec:   inlineBlueprint + "\ncomponentDescriptor: {inline: {}}",
			kind:   failure.Terminal,
			reason: ReasonComponentInvalid,
			want:   "spec.componentDescriptor.inline: ",
		},
		"a wrong Context": {
			spec:    inlineBlueprint + refComponent,
			context: "repositoryContext: {}",
			kind:    failure.Terminal,
			reason:  ReasonContextInvalid,
			want:    "Context default: repositoryContext: a repository context needs a type",
		},
		"no overwrites": {
			spec:    inlineBlueprint + refComponent,
			context: pinned,
			kind:    failure.Retryable,
			reason:  ReasonContextNotFound,
			want:    "Context default: componentVersionOverwrites: there is no ComponentVersionOverwrites garden/pins: create it",
		},
		"wrong overwrites": {
			spec:    inlineBlueprint + refComponent,
			context: pinned,
			rules:   []string{"{source: {repositoryContext: {}}}"},
			kind:    failure.Terminal,
			reason:  ReasonContextInvalid,
			want:    "ComponentVersionOverwrites pins: overwrites[0].source: ",
		},
		"a circle": {
			spec:    inlineBlueprint + refComponent,
			context: pinned,
			rules:   []string{"{source: {componentName: base}, substitution: {componentName: app}}"},
			kind:    failure.Terminal,
			reason:  ReasonComponentInvalid,
			want:    "spec.componentDescriptor: components refer to each other in a cycle",
		},
		"nothing that matters": {
			spec:    "blueprint: {ref: {resourceName: gone}}",
			context: "repositoryContext: {}",
			kind:    failure.Terminal,
			reason:  ReasonBlueprintInvalid,
			want:    "has no component",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newShelf(t)
			s.broken = test.broken
			r := Request{Installation: installation(t, test.spec), Repository: s.repository()}
			if test.nowhere {
				r.Repository = Repository{}
			}
			if test.context != "" {
				r.Context = contextOf(t, test.context)
			}
			if test.rules != nil {
				r.Overwrites = pins(t, test.rules...)
			}
			_, err := New(blueprint.NewEngine()).Find(t.Context(), r)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Fatalf("got %v", err)
			}
			details := failure.DetailsOf(err)
			if failure.KindOf(err) != test.kind || details.Reason != test.reason {
				t.Errorf("it is %s, %+v", failure.KindOf(err), details)
			}
			ours := test.broken == nil || test.reason == ReasonRepositoryUnavailable
			coded := slices.Contains(details.Codes, string(lsv1alpha1.ErrorConfigurationProblem))
			if ours && (details.Operation != Operation || coded != (test.kind == failure.Terminal)) {
				t.Errorf("details are %+v", details)
			}
			missing := []string{ReasonComponentNotFound, ReasonBlueprintNotFound}
			if errors.Is(err, resolve.ErrNotFound) != slices.Contains(missing, test.reason) {
				t.Errorf("%q is ErrNotFound: %v", err, errors.Is(err, resolve.ErrNotFound))
			}
			var about *ObjectError
			if errors.As(err, &about) != (test.reason == ReasonContextInvalid || test.reason == ReasonContextNotFound) {
				t.Errorf("%q is about an object: %v", err, about)
			}
		})
	}
}

// An interrupted read reveals nothing about the component.
func TestInterruptedReads(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := New(blueprint.NewEngine()).Find(ctx, Request{
		Installation: installation(t, inlineBlueprint+refComponent),
		Repository:   newShelf(t).repository(),
	})
	if !errors.Is(err, context.Canceled) || failure.KindOf(err) != failure.Retryable {
		t.Errorf("got %v, %s", err, failure.KindOf(err))
	}
}

func TestResourcesThatAreNotThere(t *testing.T) {
	in, err := New(blueprint.NewEngine()).Find(t.Context(), Request{
		Installation: installation(t, inlineBlueprint+refComponent),
		Repository:   newShelf(t).repository(),
	})
	if err != nil {
		t.Fatal(err)
	}
	_, ofContent := in.Content(in.Components.Root(), component.Access{Type: "none"})
	_, lost := in.Schemas("cd://componentReferences/below/resources/lost")
	_, ofSchema := in.Schemas("cd://resources/nothing")
	_, ofComponent := in.Schemas("cd://componentReferences/below")
	for name, test := range map[string]struct {
		err    error
		kind   failure.Kind
		reason string
	}{
		"content":        {ofContent, failure.Retryable, ReasonResourceNotFound},
		"a lost schema":  {lost, failure.Retryable, ReasonResourceNotFound},
		"no such schema": {ofSchema, failure.Terminal, ReasonResourceInvalid},
		"a component":    {ofComponent, failure.Terminal, ReasonResourceInvalid},
	} {
		if test.err == nil || failure.KindOf(test.err) != test.kind || failure.DetailsOf(test.err).Reason != test.reason {
			t.Errorf("%s: %v, %s, %+v", name, test.err, failure.KindOf(test.err), failure.DetailsOf(test.err))
		}
		if errors.Is(test.err, resolve.ErrNotFound) != (test.reason == ReasonResourceNotFound) {
			t.Errorf("%s: %v is ErrNotFound: %v", name, test.err, errors.Is(test.err, resolve.ErrNotFound))
		}
	}
}

// The kinds of errors survive the engine: what a repository lacks today may exist tomorrow.
func TestTheEngineKeepsTheKindsOfErrors(t *testing.T) {
	for uri, test := range map[string]struct {
		kind failure.Kind
		want string
	}{
		"cd://componentReferences/below/resources/size": {failure.Terminal, "does not match its schema"},
		"cd://componentReferences/below/resources/lost": {failure.Retryable, "the shelf has no blob lost"},
		"cd://resources/nothing":                        {failure.Terminal, "nothing"},
	} {
		engine := blueprint.NewEngine()
		inst := installation(t, "importDataMappings: {count: many}"+refComponent+
			"\nblueprint: {inline: {filesystem: {blueprint.yaml: 'imports: [{name: count, schema: {$ref: \""+uri+"\"}}]'}}}")
		in, err := New(engine).Find(t.Context(), Request{Installation: inst, Repository: newShelf(t).repository()})
		if err != nil {
			t.Fatal(err)
		}
		_, err = engine.Render(in)
		if err == nil || !strings.Contains(err.Error(), test.want) || failure.KindOf(err) != test.kind {
			t.Errorf("%s: %v is %s", uri, err, failure.KindOf(err))
		}
	}
}
