// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package diff is the command "espalier diff". It renders a tree as a job would, has the deployers' own code work on the targets through a
// transport that turns every write into a dry run, and shows what would differ, without secrets.
package diff

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/artifact"
	"espalier.dev/internal/cli"
	"espalier.dev/internal/cli/connect"
	"espalier.dev/internal/cli/display"
	"espalier.dev/internal/cli/registry"
	"espalier.dev/internal/deployer/objects/forecast"
	"espalier.dev/internal/dial"
	"espalier.dev/internal/objecttree"
	"espalier.dev/internal/offline"
	"espalier.dev/internal/target"
)

// Exit codes are those of kubectl diff.
const (
	// ExitDiffers says that a job would change something.
	ExitDiffers = 1
	// ExitFailed says that something could not be compared. Every error has it, or a higher one.
	ExitFailed = 2
)

// externalVariable names the program that shows differences, as for kubectl.
const externalVariable = "KUBECTL_EXTERNAL_DIFF"

type options struct {
	env      cli.Environment
	access   *connect.Access
	registry *registry.Access
	format   *display.FormatFlag
	files    []string
	name     string
	standard string
}

// New returns the command.
func New(env cli.Environment) *cobra.Command {
	opts := &options{env: env}
	cmd := &cobra.Command{
		Use:   "diff (NAME | -l SELECTOR | -f FILE...)",
		Short: "Show what a job would change in the target clusters",
		Long: `Show what the next job of an installation would change in the target clusters: one
unified diff for each object that the job would create, change or delete, in the whole
tree below the installation. Nothing is written anywhere.

The tree is rendered as a job renders it, from the blueprints, components and imports as
they are now. Each object is then sent to its target as a server-side dry run, as its
deploy item specifies (update strategy, policies, Helm), so that defaults, validation and
admission of the target count.

With -f, the installations in the files are compared as if they were applied. The files
may also contain what they import: DataObjects, Targets, Secrets and ConfigMaps, and the
Context. What is not in the files is read from the cluster.

The command does not guess what only a job can determine, and a note on standard error
says so: exports of deploy items are taken as the last job has left them; installations
that import what no job has exported yet are left out; objects in a namespace, or of a
kind, that does not exist yet are shown as they were rendered. Hooks of charts do not
run. Deploy items of other types than manifest and Helm cannot be previewed.

Values of Secrets are shown as <masked>, wherever they occur; where one changes, the lines
end with "(before)" and "(after)". Of objects that are deleted only the name is shown.

The user needs the rights to read the installation, its imports, and the Secrets of its
Targets. The targets are reached from this machine, with the credentials of the Targets.
-o json and -o yaml list the changes, each with its diff, together with notes and errors;
-o name prints the names of the objects that would change.

` + externalVariable + ` names another program to show the differences, as for kubectl diff,
if -o is text.

` + connect.FlagsHelp + `

The exit codes are those of kubectl diff, and not those of the other commands.`,
		Example: `  espalier diff shop
  espalier diff -l team=shop
  espalier diff -f installation.yaml
  espalier diff -f installation.yaml -f secret.yaml
  espalier diff -f installation.yaml && echo nothing to do
  ` + externalVariable + `="colordiff -N -u" espalier diff shop`,
		Args: func(cmd *cobra.Command, args []string) error { return otherCode(cobra.MaximumNArgs(1)(cmd, args)) },
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				opts.name = args[0]
			}
			if err := opts.check(cmd); err != nil {
				return otherCode(err)
			}
			return otherCode(run(cmd.Context(), opts))
		},
	}
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return otherCode(cli.Misused(cmd, err))
	})
	flags := cmd.Flags()
	opts.format = display.AddFormatFlag(cmd, display.FormatText, display.FormatJSON, display.FormatYAML, display.FormatName)
	cli.AddFilenames(cmd, &opts.files, "file or directory with installations and what they import")
	flags.StringVar(&opts.standard, artifact.DefaultFlag, "",
		"repository for components for which neither the installation nor its Context names one, as the flag of the controllers (default: none)")
	opts.registry = registry.AddFlags(env, flags)
	opts.access = connect.AddFlags(cmd, env)
	opts.access.AddSelector(connect.AllInstallations)
	cmd.ValidArgsFunction = connect.CompleteOne(opts.access.CompleteInstallations(connect.AllInstallations))
	return cmd
}

// check reports whether the user says in one way what to compare.
func (o *options) check(cmd *cobra.Command) error {
	selector, err := o.access.Selector()
	if err != nil {
		return err
	}
	switch named, files := o.name != "", len(o.files) > 0; {
	case named && selector != nil:
		return connect.ErrNamesAndSelector
	case files && selector != nil:
		return errors.New("--filename and --selector do not go together: leave out one of them")
	case selector == nil && named == files:
		return cli.Misused(cmd, errors.New("name one installation, or files with -f, or choose installations by their labels with --selector"))
	}
	return nil
}

// otherCode gives errors a code that does not say that something differs.
func otherCode(err error) error {
	if err == nil {
		return nil
	}
	var coded *cli.CodedError
	var problem *cli.Problem
	if errors.As(err, &coded) || errors.As(err, &problem) && problem.Code > ExitFailed {
		return err
	}
	return &cli.CodedError{Code: ExitFailed, Err: err}
}

func run(ctx context.Context, opts *options) error {
	format, err := opts.format.Get()
	if err != nil {
		return err
	}
	connection, err := opts.access.Connect()
	if err != nil {
		return err
	}
	config, err := opts.access.Config()
	if err != nil {
		return err
	}
	manifests, err := opts.manifests(ctx, connection)
	if err != nil {
		return err
	}
	task := registry.Task{Name: "reading components, blueprints and charts", Directory: ".", Lazy: true}
	if task.Default, err = artifact.ParseDefault(opts.standard); err != nil {
		return err
	}
	host := overlay{Reader: connection.Client, manifests: manifests}
	clusters := target.NewClusters(target.Options{
		Host: host, HostConfig: config, Dialer: dial.Rules{AllowLoopback: target.OnLoopback(config)}, WrapTransport: forecast.DryRun,
	})
	defer clusters.Close()
	s := &survey{options: opts, host: host, clusters: clusters, output: newOutput(opts.env, format)}
	task.Do = func(ctx context.Context, session *registry.Session) error {
		s.session = session
		return s.all(ctx, manifests)
	}
	if err := opts.registry.Run(ctx, task); err != nil {
		return err
	}
	return s.output.end(ctx)
}

// manifests are the installations to compare, with what the files have beside them.
func (o *options) manifests(ctx context.Context, connection connect.Connection) (*offline.Manifests, error) {
	manifests := offline.NewManifests(connection.Namespace)
	if len(o.files) > 0 {
		return manifests, manifests.ReadPaths(o.files, o.env.In)
	}
	if o.name == "" {
		return manifests, o.choose(ctx, manifests)
	}
	names, err := objecttree.InstallationNames([]string{o.name})
	if err != nil {
		return nil, err
	}
	inst := &lsv1alpha1.Installation{}
	inst.Namespace, inst.Name = connection.Namespace, names[0]
	err = connection.Client.Get(ctx, keyOf(inst), inst)
	if isNotFound(err) {
		return nil, o.access.NotFound(connection.Namespace, names[0])
	}
	if err != nil {
		return nil, o.access.Explain(err, "read installation "+names[0], connection.Namespace)
	}
	if inst.DeletionTimestamp != nil {
		return nil, fmt.Errorf("installation %s is being deleted, and everything that it deployed is deleted with it", inst.Name)
	}
	manifests.Installations = append(manifests.Installations, inst)
	return manifests, nil
}

// choose adds the installations that the selector matches. Those that are being deleted get no job, and are named in a note.
func (o *options) choose(ctx context.Context, manifests *offline.Manifests) error {
	nodes, err := o.access.Trees(ctx, nil)
	if err != nil {
		return err
	}
	for _, node := range nodes {
		inst, _ := node.Installation()
		if inst.DeletionTimestamp != nil {
			manifests.Warnings = append(manifests.Warnings, "installation "+inst.Name+" is being deleted, and is left out")
			continue
		}
		manifests.Installations = append(manifests.Installations, inst)
	}
	if len(manifests.Installations) == 0 {
		return errors.New("every installation that --selector matches is being deleted, so there is nothing to compare")
	}
	return nil
}
