// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package job has the commands that show what happens in a job: "espalier timeline" and "espalier logs".
package job

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	eventsv1client "k8s.io/client-go/kubernetes/typed/events/v1"

	"espalier.dev/internal/cli"
	"espalier.dev/internal/cli/connect"
	"espalier.dev/internal/cli/display"
	"espalier.dev/internal/objecttree"
	"espalier.dev/internal/web/view"
)

type timelineOptions struct {
	env    cli.Environment
	access *connect.Access
	format *display.FormatFlag
	utc    bool
	name   string
}

// NewTimeline returns the command "espalier timeline".
func NewTimeline(env cli.Environment) *cobra.Command {
	opts := timelineOptions{env: env}
	cmd := &cobra.Command{
		Use:   "timeline NAME",
		Short: "Show what happened when in the job of an installation",
		Long: `Show what happened when in the current or last job of an installation: when each
installation, execution and deploy item of the tree started and ended, how long it waited
and worked, and the events of the job in order. In a terminal, bars show the same as a
waterfall: ` + "`·`" + ` waits, ` + "`░`" + ` prepares, ` + "`█`" + ` works.

In the continuous flow, which has no jobs, the command shows the last run of the
installation, and the first line names the generation of the spec. Each object below shows
its own last run.

Times come from the status of the objects. Kubernetes keeps events for an hour by default;
for older ones, the statuses record when an object got the job, how it ended, and what is
wrong.

Times are in the local time zone; --utc shows UTC. -o json and -o yaml print the same facts
for programs, always in UTC; -o name prints the names of the objects.

` + connect.FlagsHelp,
		Example: `  espalier timeline shop
  espalier timeline shop --utc
  espalier timeline shop-web -o json`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.name = args[0]
			return opts.run(cmd.Context())
		},
	}
	cmd.Flags().BoolVar(&opts.utc, "utc", false, "show times in UTC instead of the local time zone")
	opts.format = display.AddFormatFlag(cmd, display.FormatTable, display.FormatJSON, display.FormatYAML, display.FormatName)
	opts.access = connect.AddFlags(cmd, env)
	cmd.ValidArgsFunction = connect.CompleteOne(opts.access.CompleteInstallations(connect.AllInstallations))
	return cmd
}

func (o timelineOptions) run(ctx context.Context) error {
	format, err := o.format.Get()
	if err != nil {
		return err
	}
	names, err := objecttree.InstallationNames([]string{o.name})
	if err != nil {
		return err
	}
	connection, err := o.access.Connect()
	if err != nil {
		return err
	}
	objects, err := objecttree.Read(ctx, connection.Client, connection.Namespace)
	if err != nil {
		return o.access.Explain(err, "read the installations", connection.Namespace)
	}
	told, found := view.NewTimeline(o.scene(ctx, objects, connection.Namespace), connection.Namespace, names[0])
	if !found {
		return o.access.NotFound(connection.Namespace, names[0])
	}
	r := newReport(told, objects.Forest(), o.env.Now())
	printer := display.To(o.env, o.env.Out)
	switch {
	case format == display.FormatName:
		return printer.Lines(r.names()...)
	case format.IsData():
		return printer.Data(r, format)
	}
	if r.Start == nil {
		o.access.Tell("%s has had no job yet. To start one: %s", r.Name, o.access.Suggest(r.Namespace, "reconcile", r.Name))
		return nil
	}
	zone := time.Local
	if o.utc {
		zone = time.UTC
	}
	return r.print(printer, zone)
}

// scene is what timelines are made from. Targets are not part of it, so the rights say that nobody knows them.
func (o timelineOptions) scene(ctx context.Context, objects *objecttree.Objects, namespace string) view.Scene {
	scene := view.Scene{
		Objects: objects, Now: o.env.Now(),
		Rights: func(_, _, resource, _ string) bool { return resource != "targets" },
	}
	events, err := ReadEvents(ctx, o.access, namespace)
	if err != nil {
		o.access.Tell("Events are missing below: cannot list the events of namespace %s: %s", namespace, display.Clean(err.Error()))
	}
	scene.Events = events
	return scene
}

// pageSize keeps answers of the API server small, as kubectl does.
const pageSize = 500

// ReadEvents returns the events of a namespace.
func ReadEvents(ctx context.Context, access *connect.Access, namespace string) ([]*eventsv1.Event, error) {
	config, err := access.Config()
	if err != nil {
		return nil, err
	}
	c, err := eventsv1client.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("connect to the cluster: %w", err)
	}
	var events []*eventsv1.Event
	options := metav1.ListOptions{Limit: pageSize}
	for {
		page, err := c.Events(namespace).List(ctx, options)
		if err != nil {
			return events, err
		}
		for i := range page.Items {
			events = append(events, &page.Items[i])
		}
		if options.Continue = page.Continue; options.Continue == "" {
			return events, nil
		}
	}
}
