// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"espalier.dev/internal/cli"
	"espalier.dev/internal/cli/display"
	"espalier.dev/internal/cli/registry"
	"espalier.dev/internal/component"
	"espalier.dev/internal/component/resolve"
)

func newGet(env cli.Environment) *cobra.Command {
	var access *registry.Access
	var format *display.FormatFlag
	cmd := &cobra.Command{
		Use:   "get REPOSITORY//COMPONENT:VERSION",
		Short: "Print the descriptor of a component",
		Long: `Print the descriptor of a component, in its original schema. -o tree shows its resources
and references, which are not followed; "espalier component tree" follows them.

` + registry.FlagsHelp,
		Example: `  espalier component get ` + placeExample + `
  espalier component get ./archive.tgz//example.com/shop:1.2.0 -o json`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			chosen, err := format.Get()
			if err != nil {
				return err
			}
			place, err := registry.ParsePlace(args[0])
			if err != nil {
				return err
			}
			return access.Run(cmd.Context(), place.Task(func(ctx context.Context, session *registry.Session) error {
				d, err := descriptor(ctx, session, place.Coordinates)
				if err != nil {
					return err
				}
				return printDescriptor(display.To(env, env.Out), d, chosen)
			}))
		},
	}
	access = registry.AddFlags(env, cmd.Flags())
	format = display.AddFormatFlag(cmd, display.FormatYAML, display.FormatJSON, display.FormatTree, display.FormatName)
	return cmd
}

// descriptor reads the descriptor of a component, and not what it refers to.
func descriptor(ctx context.Context, from resolve.Source, at component.Coordinates) (*component.Descriptor, error) {
	d, err := from.Descriptor(ctx, at)
	if err != nil {
		return nil, err
	}
	if d.ID() != at.ID() {
		return nil, fmt.Errorf("component %s: the repository returned the descriptor of %s", at.ID(), d.ID())
	}
	return d, nil
}

func printDescriptor(printer display.Printer, d *component.Descriptor, format display.Format) error {
	switch format {
	case display.FormatName:
		return printer.Lines(display.Clean(d.ID().String()))
	case display.FormatTree:
		top := display.Outline{Text: d.ID().String()}
		for i := range d.Resources {
			top.Below = append(top.Below, display.Outline{Text: resourceText(&d.Resources[i])})
		}
		for i := range d.References {
			r := &d.References[i]
			top.Below = append(top.Below, display.Outline{Text: fmt.Sprintf("%s: %s", r.Name, r.Target())})
		}
		return printer.Outline(display.Outline{Below: []display.Outline{top}})
	}
	text, err := d.JSON(d.Schema)
	if err != nil {
		return err
	}
	return printer.Data(json.RawMessage(text), format)
}
