// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"espalier.dev/internal/cli"
	"espalier.dev/internal/cli/display"
	"espalier.dev/internal/cli/registry"
	"espalier.dev/internal/component"
)

type resolveOptions struct {
	env     cli.Environment
	access  *registry.Access
	format  *display.FormatFlag
	content string
}

// resolved is what is printed of a resource.
type resolved struct {
	Component string         `json:"component"`
	Resource  string         `json:"resource"`
	Version   string         `json:"version"`
	Type      string         `json:"type"`
	Access    map[string]any `json:"access"`
	Image     string         `json:"image,omitempty"`
}

func newResolve(env cli.Environment) *cobra.Command {
	opts := resolveOptions{env: env}
	cmd := &cobra.Command{
		Use:   "resolve REPOSITORY//COMPONENT:VERSION cd://PATH",
		Short: "Show where a resource of a component is, or write its content",
		Long: `Show where a resource of a component is: its component, type and access. With --content,
write its content to a file, atomically; - is standard output. The content of an artifact
is its only layer.

cd://resources/NAME is a resource of the component, and
cd://componentReferences/NAME/resources/NAME one of a referenced component.

` + registry.FlagsHelp,
		Example: `  espalier component resolve ` + placeExample + ` cd://resources/blueprint
  espalier component resolve ` + placeExample + ` cd://resources/blueprint --content blueprint.tgz`,
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			format, err := opts.format.Get()
			if err != nil {
				return err
			}
			if _, err := component.ParseURI(args[1]); err != nil {
				return err
			}
			return with(cmd.Context(), opts.access, args[0], func(ctx context.Context, f found) error {
				at, err := f.set.ResolveURI(f.set.Root(), args[1])
				if err != nil {
					return err
				}
				if opts.content != "" {
					return opts.write(ctx, f, at)
				}
				return opts.show(f, at, format)
			})
		},
	}
	cmd.Flags().StringVar(&opts.content, "content", "", "file to write the content to; - is standard output")
	opts.access = registry.AddFlags(env, cmd.Flags())
	opts.format = display.AddFormatFlag(cmd, display.FormatYAML, display.FormatJSON)
	return cmd
}

func (o resolveOptions) show(f found, at component.Resolution, format display.Format) error {
	// What is no image has no reference of one.
	image, _ := at.Resource.Access.ImageReference(f.set.RepositoryContextOf(at.Component))
	return display.To(o.env, o.env.Out).Data(resolved{
		Component: at.Component.ID().String(),
		Resource:  at.Resource.Name,
		Version:   at.Resource.Version,
		Type:      at.Resource.Type,
		Access:    at.Resource.Access.Fields(),
		Image:     image,
	}, format)
}

// write streams the content to a file, which exists only if all of it was read.
func (o resolveOptions) write(ctx context.Context, f found, at component.Resolution) error {
	content, err := f.repositories.Open(ctx, f.set.Origin(at.Component), at.Resource.Access)
	if err != nil {
		return err
	}
	defer func() { _ = content.Close() }()
	if o.content == "-" {
		_, err := io.Copy(o.env.Out, content)
		return err
	}
	err = registry.WriteFile(o.content, func(file io.Writer) error {
		_, err := io.Copy(file, content)
		return err
	})
	if err != nil {
		return fmt.Errorf("write the content of %s: %w", at.Resource.Name, err)
	}
	return nil
}
