// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package blueprint

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"espalier.dev/internal/cli"
	"espalier.dev/internal/cli/registry"
)

func newPull(env cli.Environment) *cobra.Command {
	var access *registry.Access
	cmd := &cobra.Command{
		Use:   "pull REFERENCE DIR",
		Short: "Write a blueprint from a registry or an archive into a directory",
		Long: `Write a blueprint that is an artifact in a registry or an archive into a directory,
which must be empty or missing. If the command fails, the directory stays as it was.

If the reference has a digest, as push prints it, the artifact must match it.

` + registry.ReferenceHelp + `

The command prints the reference with the digest.`,
		Example: `  espalier blueprint pull registry.example.com/team/shop:1.0.0 ./blueprint
  espalier blueprint pull ./archive.tgz//team/shop:1.0.0 ./blueprint`,
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			from, err := registry.ParseReference(args[0])
			if err != nil {
				return err
			}
			if err := registry.CheckFree(args[1]); err != nil {
				return err
			}
			return access.Run(cmd.Context(), registry.Task{
				Name: "pulling " + from.String(),
				Do: func(ctx context.Context, session *registry.Session) error {
					files, digest, err := session.Pull(ctx, from)
					if err != nil {
						return err
					}
					if err := registry.WriteDirectory(args[1], files); err != nil {
						return fmt.Errorf("write the blueprint: %w", err)
					}
					_, err = fmt.Fprintln(env.Out, from.At(digest))
					return err
				},
			})
		},
	}
	access = registry.AddFlags(env, cmd.Flags())
	return cmd
}
