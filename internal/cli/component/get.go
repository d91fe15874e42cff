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
		Long:  "Print the descriptor of a component, in its original schema.\n\n" + registry.FlagsHelp,
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
				text, err := descriptor(ctx, session, place.Coordinates)
				if err != nil {
					return err
				}
				return display.To(env, env.Out).Data(text, chosen)
			}))
		},
	}
	access = registry.AddFlags(env, cmd.Flags())
	format = display.AddFormatFlag(cmd, display.FormatYAML, display.FormatJSON)
	return cmd
}

// descriptor reads the descriptor of a component, and not what it refers to.
func descriptor(ctx context.Context, from resolve.Source, at component.Coordinates) (json.RawMessage, error) {
	d, err := from.Descriptor(ctx, at)
	if err != nil {
		return nil, err
	}
	if d.ID() != at.ID() {
		return nil, fmt.Errorf("component %s: the repository returned the descriptor of %s", at.ID(), d.ID())
	}
	return d.JSON(d.Schema)
}
