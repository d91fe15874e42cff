// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package render is the command "espalier render".
package render

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"espalier.dev/internal/cli"
	"espalier.dev/internal/offline"
)

// ExitWaiting is the exit code when installations could not be rendered because they need exports that are not known.
const ExitWaiting = 2

type options struct {
	streams     genericiooptions.IOStreams
	files       []string
	name        string
	namespace   string
	recursive   bool
	components  string
	blueprints  []string
	exports     string
	format      string
	showSecrets bool
}

// New returns the command.
func New(streams genericiooptions.IOStreams) *cobra.Command {
	opts := options{streams: streams}
	cmd := &cobra.Command{
		Use:   "render -f FILE... [NAME]",
		Short: "Print what an installation becomes, without a cluster",
		Long: `Print the objects that the controllers would write for an installation: its
Execution with the deploy items, the context objects of its imports, its nested
installations, and the state of its templates.

The files contain the Installation and what it imports: DataObjects, Targets,
Secrets, ConfigMaps, and the Context with its ComponentVersionOverwrites if it
matters. Other kinds are ignored with a warning. Without NAME, all installations
are rendered that are not nested in others.

Nothing is deployed, so nothing is exported either. Say with --exports what
installations export, by their path of names in the blueprints:

  shop/database:
    deployItems:             what the deploy items export; the blueprint's export
      db: {port: 5432}       executions make the exports of it
  shop/cache:
    exports:                 or the exports themselves
      address: cache:6379

Values of imported Secrets are printed as <masked>, and so are the states of
templates and the kubeconfigs of Targets; --show-secrets prints them.

Exit codes: 0 when everything was rendered, 2 when an installation waits for
exports that are not known (all others are printed), 1 for any other error.`,
		Example: `  espalier render -f installation.yaml
  espalier render -f manifests/ --recursive --exports exports.yaml shop
  espalier render -f installation.yaml --components descriptors/ --blueprint blueprint=./blueprint
  kubectl get inst,dobj,tgt -o yaml | espalier render -f - -o json`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				opts.name = args[0]
			}
			return run(cmd.Context(), opts)
		},
	}
	flags := cmd.Flags()
	flags.StringArrayVarP(&opts.files, "filename", "f", nil, "file or directory with manifests, or - for standard input; may be repeated")
	flags.StringVarP(&opts.namespace, "namespace", "n", "default", "namespace of manifests that name none")
	flags.BoolVarP(&opts.recursive, "recursive", "r", false, "render nested installations too")
	flags.StringVar(&opts.components, "components", "", "directory with component descriptors")
	flags.StringArrayVar(
		&opts.blueprints,
		"blueprint",
		nil,
		"directory of a blueprint, as [COMPONENT[:VERSION]//]RESOURCE=DIR; may be repeated",
	)
	flags.StringVar(&opts.exports, "exports", "", "file that says what installations export")
	flags.StringVarP(&opts.format, "output", "o", offline.FormatYAML, "output format: yaml or json")
	flags.BoolVar(&opts.showSecrets, "show-secrets", false, "print values of Secrets, kubeconfigs and states instead of masking them")
	return cmd
}

func run(ctx context.Context, opts options) error {
	if opts.format != offline.FormatYAML && opts.format != offline.FormatJSON {
		return fmt.Errorf("unknown output format %q: --output takes yaml or json", opts.format)
	}
	result, err := render(ctx, opts)
	if err != nil {
		return err
	}
	for _, warning := range result.Warnings {
		fmt.Fprintln(opts.streams.ErrOut, "warning:", warning)
	}
	manifests, err := result.Manifests(opts.showSecrets)
	if err != nil {
		return err
	}
	if err := offline.Write(opts.streams.Out, opts.format, manifests); err != nil {
		return err
	}
	if len(result.Waiting) == 0 {
		return nil
	}
	for _, waiting := range result.Waiting {
		fmt.Fprintln(opts.streams.ErrOut, waiting)
	}
	return &cli.CodedError{
		Code: ExitWaiting,
		Err:  errors.New("not everything could be rendered: say with --exports what the installations above export"),
	}
}

func render(ctx context.Context, opts options) (*offline.Result, error) {
	if len(opts.files) == 0 {
		return nil, errors.New("there is nothing to render: name files with -f\nSee 'espalier render --help'")
	}
	manifests := offline.NewManifests(opts.namespace)
	if err := manifests.ReadPaths(opts.files, opts.streams.In); err != nil {
		return nil, err
	}
	library, err := offline.OpenLibrary(opts.components, opts.blueprints)
	if err != nil {
		return nil, err
	}
	var exports offline.GivenExports
	if opts.exports != "" {
		if exports, err = offline.ReadExports(opts.exports); err != nil {
			return nil, err
		}
	}
	return offline.Render(ctx, manifests, offline.Options{
		Installation: opts.name, Recursive: opts.recursive, Library: library, Exports: exports,
	})
}
