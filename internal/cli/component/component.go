// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package component is the command "espalier component".
package component

import (
	"context"

	"github.com/spf13/cobra"

	"espalier.dev/internal/artifact"
	"espalier.dev/internal/cli"
	"espalier.dev/internal/cli/registry"
	"espalier.dev/internal/component"
	"espalier.dev/internal/component/resolve"
)

const placeExample = "registry.example.com/components//example.com/shop:1.2.0"

// New returns the command with those below it.
func New(env cli.Environment) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "component",
		Short: "Show and verify components in registries and archives",
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		Args:  cobra.NoArgs,
	}
	cmd.AddCommand(newGet(env), newTree(env), newResolve(env), newVerify(env))
	return cmd
}

// found is a component with everything that it refers to.
type found struct {
	set          *component.Set
	repositories *artifact.Repositories
}

// with reads a component with everything below it, and hands it to a function.
func with(ctx context.Context, access *registry.Access, argument string, do func(context.Context, found) error) error {
	place, err := registry.ParsePlace(argument)
	if err != nil {
		return err
	}
	return access.Run(ctx, place.Task(func(ctx context.Context, session *registry.Session) error {
		set, err := resolve.Closure(ctx, session, component.ClosureOptions{Root: place.Coordinates})
		if err != nil {
			return err
		}
		return do(ctx, found{set: set, repositories: session.Repositories})
	}))
}
