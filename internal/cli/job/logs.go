// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package job

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	"espalier.dev/internal/cli"
	"espalier.dev/internal/cli/check"
	"espalier.dev/internal/cli/connect"
	"espalier.dev/internal/cli/display"
	"espalier.dev/internal/cli/reach"
	"espalier.dev/internal/objecttree"
)

type logsOptions struct {
	env    cli.Environment
	access *connect.Access
	format *display.FormatFlag
	// chosen is what format says.
	chosen display.Format
	follow bool
	since  time.Duration
	tail   int64
	events bool
	// controllers says that lines of the controllers are wanted, and system is their namespace.
	controllers bool
	system      string
	name        string
	// patience is how long a log may keep its reader waiting, for an answer or, unless it is followed, for the next line.
	patience time.Duration
}

// patience is enough for the API server to find out that a node does not answer.
const patience = time.Minute

// everyLine is the value of --tail that leaves nothing out.
const everyLine = -1

// NewLogs returns the command "espalier logs".
func NewLogs(env cli.Environment) *cobra.Command {
	opts := logsOptions{env: env, patience: patience}
	cmd := &cobra.Command{
		Use:   "logs NAME",
		Short: "Show the logs of all pods of an installation",
		Long: `Show what the pods of an installation have logged since its current or last job started:
the pods in which container deploy items run, with all their containers, and the pods of
Deployments, StatefulSets, DaemonSets, ReplicaSets and Jobs that manifests and charts
have deployed to target clusters. Lines are in the order of their time. Each begins with
the deploy item, and the namespace, the pod and the container:

  [nginx web/nginx-6d4cf56db6-x2x7m/nginx] GET / 200

Instead of an installation, you can also name execution/NAME or deployitem/NAME.

--follow prints new lines, and those of pods that start later. It ends when the job has
finished and all containers have ended; Ctrl-C ends it before.

--events adds the Kubernetes events of the objects of the tree as lines of their own:

  [event DeployItem/shop-web-nginx] Failed: 0 of 2 pods are available

--controllers adds what the controllers and deployers of Espalier have logged about the
objects of the tree:

  [controllers DeployItem/shop-web-nginx] Failed: manifest 2 has no kind phase=Failed

It reads the pods of the controllers, or, if the command uses the control plane of
"espalier up", the file to which that logs.

-o json prints an object for each line of a log, in one line; -o yaml a document, and a
template is filled with each.

A log that cannot be read is named on standard error; the others are shown, and the exit
code is 1. The command needs the right to list pods and to get pods/log in the namespace
of the deploy items; for target clusters, the right to read the Targets and their
Secrets. There, the credential of the Target needs the rights to the pods. For --events,
it needs the right to list events.events.k8s.io; for --controllers, the right to list pods
and to get pods/log in the namespace of the controllers.

` + connect.FlagsHelp,
		Example: `  espalier logs shop
  espalier logs shop --follow
  espalier logs shop --since 24h --tail 50
  espalier logs shop --events
  espalier logs shop --controllers
  espalier logs deployitem/shop-web-nginx`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.name = args[0]
			return opts.run(cmd.Context(), cmd.Flags().Changed("since"))
		},
	}
	cmd.Flags().BoolVarP(&opts.follow, "follow", "f", false, "print new lines until the job and all containers have ended")
	cmd.Flags().DurationVar(&opts.since, "since", 0, "show lines that are newer than this, such as 10m; default: since the job started")
	cmd.Flags().Int64Var(&opts.tail, "tail", everyLine, "how many of the last lines of each container to show; -1 means all")
	cmd.Flags().BoolVar(&opts.events, "events", false, "also show the events of the installations, executions and deploy items")
	cmd.Flags().BoolVar(&opts.controllers, "controllers", false, "also show what the controllers and deployers have logged about the tree")
	opts.format = display.AddFormatFlag(cmd, display.FormatText, display.FormatJSON, display.FormatYAML)
	check.AddSystemNamespaceFlag(cmd, &opts.system)
	opts.access = connect.AddFlags(cmd, env)
	cmd.ValidArgsFunction = connect.CompleteOne(
		connect.CompleteKinds(opts.access.TreeKinds(), opts.access.CompleteInstallations(connect.AllInstallations)))
	return cmd
}

func (o logsOptions) run(parent context.Context, sinceGiven bool) error {
	if err := o.check(sinceGiven); err != nil {
		return err
	}
	kind, name, err := objecttree.ParseName(o.name)
	if err != nil {
		return err
	}
	ctx, stop := o.env.UntilInterrupted(parent)
	defer stop()
	finder, err := o.finder(kind, name)
	if err != nil {
		return err
	}
	defer finder.targets.Close()
	found, err := finder.find(ctx)
	switch {
	case ctx.Err() != nil:
		return &cli.CodedError{Code: cli.ExitDetached}
	case errors.Is(err, errGone):
		return finder.notFound()
	case err != nil:
		return err
	}
	finder.targets.Quiet()
	session := newSession(o, finder)
	session.complain(found.problems...)
	if o.follow {
		session.follow(ctx, found)
	} else {
		session.merge(ctx, found)
	}
	if ctx.Err() != nil {
		return &cli.CodedError{Code: cli.ExitDetached}
	}
	return session.conclude(found)
}

// check finds mistakes in the flags, and takes the format from them.
func (o *logsOptions) check(sinceGiven bool) (err error) {
	switch {
	case sinceGiven && o.since <= 0:
		return errors.New("--since takes a positive duration, such as 10m")
	case o.tail < everyLine:
		return errors.New("--tail takes a number of lines; -1 means all")
	}
	o.chosen, err = o.format.Get()
	return err
}

func (o logsOptions) finder(kind objecttree.Kind, name string) (*finder, error) {
	connection, err := o.access.Connect()
	if err != nil {
		return nil, err
	}
	config, err := o.access.Config()
	if err != nil {
		return nil, err
	}
	host, err := corev1client.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("connect to the cluster: %w", err)
	}
	targets, err := reach.Open(o.access)
	if err != nil {
		return nil, err
	}
	return &finder{connection: connection, host: host, targets: targets, kind: kind, name: name}, nil
}

// notFound is the error for an object that does not exist.
func (f *finder) notFound() error {
	access, namespace := f.connection.Access, f.connection.Namespace
	if f.kind == objecttree.Installation {
		return access.NotFound(namespace, f.name)
	}
	return &cli.Problem{
		Code: cli.ExitNotFound, What: fmt.Sprintf("%s %s does not exist", strings.ToLower(string(f.kind)), f.name),
		Where: access.Where(namespace), Next: []string{access.Suggest(namespace, "tree")},
	}
}
