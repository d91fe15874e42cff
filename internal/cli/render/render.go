// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package render is the command "espalier render".
package render

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/artifact"
	"espalier.dev/internal/cli"
	"espalier.dev/internal/cli/display"
	"espalier.dev/internal/cli/registry"
	"espalier.dev/internal/offline"
)

// ExitWaiting is the exit code when installations could not be rendered because they need exports that are not known.
const ExitWaiting = 2

type options struct {
	env         cli.Environment
	access      *registry.Access
	files       []string
	name        string
	namespace   string
	recursive   bool
	components  string
	standard    string
	blueprints  []string
	exports     string
	format      *display.FormatFlag
	showSecrets bool
	charts      bool
	inspectors  map[lsv1alpha1.DeployItemType]offline.Inspector
}

// New returns the command. The inspectors know deploy items of some types.
func New(env cli.Environment, inspectors map[lsv1alpha1.DeployItemType]offline.Inspector) *cobra.Command {
	opts := options{env: env, inspectors: inspectors}
	cmd := &cobra.Command{
		Use:   "render -f FILE... [NAME]",
		Short: "Print what an installation becomes, without a cluster",
		Long: `Print the objects that the controllers would write for an installation: its
Execution with the deploy items, the context objects of its imports, its nested
installations, and the state of its templates.

The files contain the Installation and what it imports: DataObjects, Targets,
Secrets, ConfigMaps, and the Context with its ComponentVersionOverwrites if it
matters. Other kinds are ignored with a warning. Without NAME, the command renders
all installations that are not nested in others.

Components are read from the repository that the installation names, or its Context,
or --default-repository-context, as in a cluster: a registry, or an archive below the
current directory. With --components they only come from a directory of descriptors, or
from an archive in the common transport format. Blueprints of spec.blueprint.oci and
spec.blueprint.git are read from their source. Credentials are those of the Context, if
its Secrets are among the manifests, those that docker login has written, or those of
the file that --registry-config names. A signature that spec.verification requires is
verified if its key is among the manifests.

Nothing is deployed, so nothing is exported either. Use --exports to set what
installations export, by their path of names in the blueprints:

  shop/database:
    deployItems:             what the deploy items export; the blueprint's export
      db: {port: 5432}       executions compute the exports from it
  shop/cache:
    exports:                 or the exports themselves
      address: cache:6379

The configurations of Helm deploy items are checked, with warnings. --charts also
prints what their charts render to, if helmDeployment is false and the chart is
in the configuration.

Values of imported Secrets are printed as <masked>, and so are the states of
templates and the kubeconfigs of Targets; --show-secrets prints them.`,
		Example: `  espalier render -f installation.yaml
  espalier render -f manifests/ --recursive --exports exports.yaml shop
  espalier render -f installation.yaml --components descriptors/ --blueprint blueprint=./blueprint
  espalier render -f installation.yaml -f context.yaml --registry-config config.json
  espalier render -f installation.yaml --components archive.tgz
  kubectl get inst,dobj,tgt -o yaml | espalier render -f - -o json`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				opts.name = args[0]
			}
			if len(opts.files) == 0 {
				return cli.Misused(cmd, errors.New("there is nothing to render: name files with -f"))
			}
			return run(cmd.Context(), opts)
		},
	}
	flags := cmd.Flags()
	cli.AddFilenames(cmd, &opts.files, "file or directory with manifests")
	flags.StringVarP(&opts.namespace, "namespace", "n", "default", "namespace of manifests that name none")
	flags.BoolVarP(&opts.recursive, "recursive", "r", false, "render nested installations too")
	flags.StringVar(&opts.components, "components", "", "directory with component descriptors, or archive in the common transport format")
	flags.StringArrayVar(&opts.blueprints, "blueprint", nil, "directory of a blueprint, as [COMPONENT[:VERSION]//]RESOURCE=DIR; may be repeated")
	flags.StringVar(&opts.exports, "exports", "", "file with the exports of installations")
	flags.BoolVar(&opts.charts, "charts", false, "print the objects of charts that are in the configurations of deploy items")
	flags.BoolVar(&opts.showSecrets, "show-secrets", false, "print values of Secrets, kubeconfigs and states instead of masking them")
	flags.StringVar(
		&opts.standard,
		artifact.DefaultFlag,
		"",
		"repository for components for which neither the manifests nor their Contexts name one, as the flag of the controllers (default: none)",
	)
	opts.format = display.AddFormatFlag(cmd, display.FormatYAML, display.FormatJSON, display.FormatName)
	opts.access = registry.AddFlags(env, flags)
	return cmd
}

func run(ctx context.Context, opts options) error {
	format, err := opts.format.Get()
	if err != nil {
		return err
	}
	result, err := render(ctx, opts)
	if err != nil {
		return err
	}
	result.Inspect(ctx, opts.inspectors, opts.charts)
	for _, warning := range result.Warnings {
		fmt.Fprintln(opts.env.ErrOut, "warning:", warning)
	}
	manifests, err := result.Manifests(opts.showSecrets)
	if err != nil {
		return err
	}
	if err := display.To(opts.env, opts.env.Out).Manifests(manifests, format); err != nil {
		return err
	}
	if len(result.Waiting) == 0 {
		return nil
	}
	for _, waiting := range result.Waiting {
		fmt.Fprintln(opts.env.ErrOut, waiting)
	}
	return &cli.CodedError{
		Code: ExitWaiting,
		Err:  errors.New("not everything could be rendered: set with --exports what the installations above export"),
	}
}

func render(ctx context.Context, opts options) (*offline.Result, error) {
	manifests := offline.NewManifests(opts.namespace)
	if err := manifests.ReadPaths(opts.files, opts.env.In); err != nil {
		return nil, err
	}
	var exports offline.GivenExports
	if opts.exports != "" {
		var err error
		if exports, err = offline.ReadExports(opts.exports); err != nil {
			return nil, err
		}
	}
	task, library, err := sources(opts)
	if err != nil {
		return nil, err
	}
	var result *offline.Result
	task.Do = func(ctx context.Context, session *registry.Session) (err error) {
		result, err = offline.Render(ctx, manifests, offline.Options{
			Installation: opts.name,
			Recursive:    opts.recursive,
			Library:      library,
			Outside:      session.Outside,
			Exports:      exports,
		})
		return err
	}
	err = opts.access.Run(ctx, task)
	return result, err
}

// sources says where components and blueprints come from: with --components from a directory or an archive, otherwise from where
// the manifests say. Archives that these name are below the current directory.
func sources(opts options) (registry.Task, *offline.Library, error) {
	task := registry.Task{Name: "reading components and blueprints", Directory: ".", Lazy: true}
	var err error
	if task.Default, err = artifact.ParseDefault(opts.standard); err != nil {
		return task, nil, err
	}
	directory := opts.components
	if directory != "" && registry.IsArchive(directory) {
		if task.Instead, task.Directory, err = registry.InsteadOfAll(directory); err != nil {
			return task, nil, fmt.Errorf("--components %s: %w", directory, err)
		}
		directory = ""
	}
	library, err := offline.OpenLibrary(directory, opts.blueprints)
	return task, library, err
}
