// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"espalier.dev/internal/cli"
	"espalier.dev/internal/cli/display"
	"espalier.dev/internal/cli/registry"
	"espalier.dev/internal/component"
	"espalier.dev/internal/diagram"
)

func newTree(env cli.Environment) *cobra.Command {
	var access *registry.Access
	var format *display.FormatFlag
	cmd := &cobra.Command{
		Use:   "tree REPOSITORY//COMPONENT:VERSION",
		Short: "Show a component with its resources and everything that it refers to",
		Long: `Show a component with its resources and everything that it refers to, directly and
indirectly. A component that occurs several times is shown in full the first time.

-o json, -o yaml and -o name list each component once, starting with the requested one. -o svg
draws a picture for browsers; -o mermaid and -o dot print the same graph for Mermaid and
Graphviz.

` + registry.FlagsHelp,
		Example: `  espalier component tree ` + placeExample + `
  espalier component tree ./archive.tgz//example.com/shop:1.2.0 -o svg > shop.svg`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			chosen, err := format.Get()
			if err != nil {
				return err
			}
			return with(cmd.Context(), access, args[0], func(_ context.Context, f found) error {
				return show(display.To(env, env.Out), f.set, chosen)
			})
		},
	}
	access = registry.AddFlags(env, cmd.Flags())
	formats := []display.Format{display.FormatTree, display.FormatJSON, display.FormatYAML, display.FormatName}
	format = display.AddFormatFlag(cmd, append(formats, display.GraphFormats...)...)
	return cmd
}

func show(printer display.Printer, set *component.Set, format display.Format) error {
	if format == display.FormatTree {
		d := drawing{set: set, drawn: map[component.ID]bool{}}
		d.line(display.Clean(set.Root().ID().String()))
		if err := d.below(set.Root(), ""); err != nil {
			return err
		}
		return printer.Lines(d.lines...)
	}
	all, err := membersOf(set)
	switch {
	case err != nil:
		return err
	case format.IsGraph():
		return printer.Graph(graphOf(all), format)
	case format == display.FormatName:
		var names []string
		for _, m := range all {
			names = append(names, display.Clean(m.Name+":"+m.Version))
		}
		return printer.Lines(names...)
	}
	return printer.Data(closure{all}, format)
}

// closure is what programs get to see: each component once, the root first.
type closure struct {
	Components []member `json:"components"`
}

type member struct {
	Name       string     `json:"name"`
	Version    string     `json:"version"`
	Resources  []resource `json:"resources"`
	References []refers   `json:"references"`
}

type resource struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	Type    string `json:"type"`
}

// refers is a reference to another component.
type refers struct {
	Name      string `json:"name"`
	Component string `json:"component"`
	Version   string `json:"version"`
}

func membersOf(set *component.Set) ([]member, error) {
	var all []member
	for _, d := range set.All() {
		m := member{Name: d.ID().Name, Version: d.ID().Version, Resources: []resource{}, References: []refers{}}
		for i := range d.Resources {
			m.Resources = append(m.Resources, resource{d.Resources[i].Name, d.Resources[i].Version, d.Resources[i].Type})
		}
		for i := range d.References {
			target, err := set.Target(d, &d.References[i])
			if err != nil {
				return nil, err
			}
			m.References = append(m.References, refers{d.References[i].Name, target.ID().Name, target.ID().Version})
		}
		all = append(all, m)
	}
	return all, nil
}

// graphOf draws components with what they refer to. Resources lie in them.
func graphOf(all []member) diagram.Graph {
	g := diagram.Graph{Title: all[0].Name + ":" + all[0].Version}
	for _, m := range all {
		id := m.Name + ":" + m.Version
		g.Nodes = append(g.Nodes, diagram.Node{ID: id, Title: m.Name, Detail: m.Version})
		for i, r := range m.Resources {
			g.Nodes = append(g.Nodes, diagram.Node{ID: fmt.Sprintf("%s\n%d", id, i), Parent: id, Title: r.Name, Detail: r.Version + ", " + r.Type})
		}
		for _, r := range m.References {
			g.Edges = append(g.Edges, diagram.Edge{From: id, To: r.Component + ":" + r.Version, Label: r.Name})
		}
	}
	return g
}

// drawing is a tree that is being drawn. What is below a component is drawn once: many references may lead to it, and a tree that
// repeats it each time can be larger than the world.
type drawing struct {
	set   *component.Set
	drawn map[component.ID]bool
	lines []string
}

// line adds a line to the drawing. The texts come from outside.
func (d *drawing) line(text string) { d.lines = append(d.lines, text) }

// below draws what is below a component.
func (d *drawing) below(of *component.Descriptor, indent string) error {
	d.drawn[of.ID()] = true
	last := len(of.Resources) + len(of.References) - 1
	for i := range of.Resources {
		resource := &of.Resources[i]
		mark, _ := marks(i == last)
		d.line(indent + mark + display.Clean(resourceText(resource)))
	}
	for i := range of.References {
		mark, deeper := marks(len(of.Resources)+i == last)
		target, err := d.set.Target(of, &of.References[i])
		if err != nil {
			return err
		}
		text := display.Clean(fmt.Sprintf("%s: %s", of.References[i].Name, target.ID()))
		if d.drawn[target.ID()] {
			d.line(indent + mark + text + repeated(target))
			continue
		}
		d.line(indent + mark + text)
		if err := d.below(target, indent+deeper); err != nil {
			return err
		}
	}
	return nil
}

func resourceText(r *component.Resource) string {
	return fmt.Sprintf("resource %s %s (%s)", r.Name, r.Version, r.Type)
}

// repeated says that what is below a component is drawn above.
func repeated(target *component.Descriptor) string {
	if len(target.Resources)+len(target.References) == 0 {
		return ""
	}
	return " (see above)"
}

// marks are those in front of a branch, and in front of what is below it.
func marks(last bool) (own, below string) {
	if last {
		return "└─ ", "   "
	}
	return "├─ ", "│  "
}
