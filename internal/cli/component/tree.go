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
)

func newTree(env cli.Environment) *cobra.Command {
	var access *registry.Access
	cmd := &cobra.Command{
		Use:   "tree REPOSITORY//COMPONENT:VERSION",
		Short: "Show a component with its resources and everything that it refers to",
		Long: `Show a component with its resources and everything that it refers to, directly and
indirectly. A component that occurs several times is shown in full the first time.

` + registry.FlagsHelp,
		Example: `  espalier component tree ` + placeExample + `
  espalier component tree ./archive.tgz//example.com/shop:1.2.0`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return with(cmd.Context(), access, args[0], func(_ context.Context, f found) error {
				d := drawing{set: f.set, drawn: map[component.ID]bool{}}
				d.line(display.Clean(f.set.Root().ID().String()))
				if err := d.below(f.set.Root(), ""); err != nil {
					return err
				}
				return display.To(env, env.Out).Lines(d.lines...)
			})
		},
	}
	access = registry.AddFlags(env, cmd.Flags())
	return cmd
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
		d.line(indent + mark + display.Clean(fmt.Sprintf("resource %s %s (%s)", resource.Name, resource.Version, resource.Type)))
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
