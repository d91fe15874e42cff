// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package blueprint

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"espalier.dev/internal/cli"
	"espalier.dev/internal/cli/registry"
	"espalier.dev/internal/offline"
)

type pushOptions struct {
	env    cli.Environment
	access *registry.Access
}

func newPush(env cli.Environment) *cobra.Command {
	opts := pushOptions{env: env}
	cmd := &cobra.Command{
		Use:   "push DIR REFERENCE",
		Short: "Store a blueprint in a registry or an archive",
		Long: `Store the directory of a blueprint as an artifact in a registry or an archive, where
installations refer to it with spec.blueprint.oci. The command first validates it like
espalier blueprint validate, and rejects it if there are errors. Warnings do not matter.

All files of the directory are stored, without modes and empty directories; links are
rejected. The same files give the same digest. A missing archive is created, in the
format of its name: a tar file (.tar), a compressed one (.tgz), or otherwise a directory.
An existing one is extended, or not changed at all.

` + registry.ReferenceHelp + `

The command prints the reference with the digest.`,
		Example: `  espalier blueprint push ./blueprint registry.example.com/team/shop:1.0.0
  espalier blueprint push ./blueprint http://localhost:5000/team/shop:1.0.0
  espalier blueprint push ./blueprint ./archive.tgz//team/shop:1.0.0`,
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			to, err := registry.ParseReference(args[1])
			if err == nil && (to.Tag == "" || to.Digest != "") {
				err = fmt.Errorf("%s: to push, a reference needs a tag and no digest, such as registry.example.com/team/shop:1.0.0", to)
			}
			if err != nil {
				return err
			}
			return opts.run(cmd.Context(), args[0], to)
		},
	}
	opts.access = registry.AddFlags(env, cmd.Flags())
	return cmd
}

func (o pushOptions) run(ctx context.Context, dir string, to registry.Reference) error {
	files, checked, err := offline.ReadBlueprint(dir)
	if err != nil {
		return err
	}
	if len(checked.Errors)+len(checked.Warnings) > 0 {
		if err := writeText(o.env.ErrOut, []offline.CheckedBlueprint{checked}); err != nil {
			return err
		}
	}
	if len(checked.Errors) > 0 {
		return errors.New("the blueprint has errors and was not pushed")
	}
	return o.access.Run(ctx, registry.Task{Name: "pushing " + to.String(), Do: func(ctx context.Context, session *registry.Session) error {
		digest, err := session.Push(ctx, to, files)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintln(o.env.Out, to.At(digest))
		return err
	}})
}
