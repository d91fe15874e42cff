// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package request

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	pipelines "espalier.dev/api/pipelines/v1alpha1"
	"espalier.dev/internal/cli"
	"espalier.dev/internal/cli/connect"
	"espalier.dev/internal/cli/display"
	"espalier.dev/internal/cli/follow"
	"espalier.dev/internal/objecttree"
	"espalier.dev/internal/steer"
)

type suspendOptions struct {
	env    cli.Environment
	access *connect.Access
	format *display.FormatFlag
	// flags are those for waiting, which only resume has.
	flags  *follow.Flags
	change steer.SuspendChange
}

// NewSuspend returns the command "espalier suspend".
func NewSuspend(env cli.Environment) *cobra.Command {
	opts := &suspendOptions{env: env}
	cmd := &cobra.Command{
		Use:   "suspend (KIND/NAME... | -l SELECTOR)",
		Short: "Keep new runs of installations and pipelines from starting",
		Long: `Suspend root installations and pipelines until they are resumed. NAME or
installation/NAME is an installation, pipeline/NAME a pipeline. --selector chooses
installations, and no pipelines.

While an installation is suspended, no new run starts in its tree. A requested, scheduled
or automatic job stays requested. In the continuous flow, a new spec or a changed import
takes no effect, and drift is not repaired. A run that has started finishes. Interrupting
and deleting work as usual. The condition Ready still shows the result of the last run.

A suspended pipeline starts no promotions; open pull requests stay open.

` + connect.FlagsHelp,
		Example: `  espalier suspend shop -m "audit until Friday"
  espalier suspend installation/shop pipeline/shop
  espalier suspend -l team=shop`,
	}
	cli.AddMessage(cmd, &opts.change.Reason, "reason, shown to others with your user name")
	return opts.complete(cmd)
}

// NewResume returns the command "espalier resume".
func NewResume(env cli.Environment) *cobra.Command {
	opts := &suspendOptions{env: env, change: steer.SuspendChange{Resume: true}}
	return opts.complete(&cobra.Command{
		Use:   "resume (KIND/NAME... | -l SELECTOR)",
		Short: "Let suspended installations and pipelines continue",
		Long: `Resume suspended root installations and pipelines. NAME or installation/NAME is an
installation, pipeline/NAME a pipeline. What was requested meanwhile starts at once; in
the continuous flow, so does what has changed.

With --wait, the command waits for the runs of installations that were held back: those
that were requested, scheduled or due to a changed spec. If there is none, it says so, and
the exit code is 0. Pipelines cannot be waited for.

` + connect.FlagsHelp,
		Example: `  espalier resume shop
  espalier resume shop pipeline/shop
  espalier resume shop --wait --timeout 20m`,
	})
}

func (o *suspendOptions) complete(cmd *cobra.Command) *cobra.Command {
	o.access = connect.AddFlags(cmd, o.env)
	if o.change.Resume {
		o.flags = follow.AddStartFlags(cmd, o.env, o.access, "the runs that were held back have finished")
		o.format = o.flags.Format()
	} else {
		o.format = display.AddFormatFlag(cmd, display.FormatText, display.FormatName, display.FormatJSON, display.FormatYAML)
	}
	o.access.AddSelector(connect.RootInstallations)
	cmd.Args = o.access.NamesOrSelector(1)
	cmd.ValidArgsFunction = o.access.CompleteRootsAndPipelines
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), args) }
	return cmd
}

// kindPipeline and kindInstallation are how arguments and results name kinds.
const (
	kindPipeline     = "pipeline"
	kindInstallation = "installation"
)

// suspendResult is what was done with one object, for programs.
type suspendResult struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Suspended bool   `json:"suspended"`
	Changed   bool   `json:"changed"`
	Message   string `json:"message"`
}

type suspendResults struct {
	Results []suspendResult `json:"results"`
}

// run looks at all objects before it changes the first.
func (o *suspendOptions) run(ctx context.Context, args []string) error {
	format, err := o.format.Get()
	if err != nil {
		return err
	}
	if o.flags != nil {
		if err := o.flags.Check(); err != nil {
			return err
		}
	}
	requester, err := NewRequester(o.access)
	if err != nil {
		return err
	}
	objects, err := o.read(ctx, requester, args)
	if err != nil {
		return err
	}
	if o.flags != nil && o.flags.Waits() {
		return o.resumeAndWait(ctx, requester, objects)
	}
	all, failed := o.changeAll(ctx, requester, objects)
	if len(all.Results) > 0 {
		if err := o.print(all, format); err != nil {
			return err
		}
	}
	return failed
}

// changeAll changes one object after the other. It also returns what was done before an error.
func (o *suspendOptions) changeAll(ctx context.Context, requester *Requester, objects []client.Object) (suspendResults, error) {
	var all suspendResults
	for _, object := range objects {
		changed, err := requester.asker().Suspend(ctx, object, o.change)
		if err != nil {
			return all, requester.explain(err)
		}
		all.Results = append(all.Results, suspendResult{
			Kind: kindOf(object), Namespace: object.GetNamespace(), Name: object.GetName(),
			Suspended: !o.change.Resume, Changed: changed, Message: o.said(object, changed),
		})
	}
	return all, nil
}

func (o *suspendOptions) read(ctx context.Context, requester *Requester, args []string) ([]client.Object, error) {
	verb := "suspend"
	if o.change.Resume {
		verb = "resume"
	}
	var objects []client.Object
	if len(args) == 0 {
		roots, err := requester.Roots(ctx, nil, verb)
		for _, root := range roots {
			objects = append(objects, root)
		}
		return objects, err
	}
	seen := map[suspendable]bool{}
	for _, argument := range args {
		named, err := parseSuspendable(argument)
		if err != nil {
			return nil, err
		}
		if seen[named] {
			continue
		}
		seen[named] = true
		object, err := requester.readSuspendable(ctx, named, verb)
		if err != nil {
			return nil, err
		}
		objects = append(objects, object)
	}
	return objects, nil
}

// suspendable names what can be suspended.
type suspendable struct {
	name       string
	isPipeline bool
}

func (r *Requester) readSuspendable(ctx context.Context, s suspendable, verb string) (client.Object, error) {
	if s.isPipeline {
		p, err := r.Access.ReadPipeline(ctx, r.Client, r.Namespace, s.name)
		if err != nil {
			return nil, err
		}
		return p, nil
	}
	roots, err := r.Roots(ctx, []string{s.name}, verb)
	if err != nil {
		return nil, err
	}
	return roots[0], nil
}

// parseSuspendable reads an argument: the name of an installation, or a kind and a name as kubectl and -o name write them.
func parseSuspendable(argument string) (suspendable, error) {
	if name, isPipeline := connect.PipelineName(argument); isPipeline {
		return suspendable{name: name, isPipeline: true}, nil
	}
	names, err := objecttree.InstallationNames([]string{argument})
	if err != nil || names[0] == "" {
		return suspendable{}, fmt.Errorf(
			"%q is not understood: give an installation as NAME or installation/NAME, or a pipeline as pipeline/NAME", argument,
		)
	}
	return suspendable{name: names[0]}, nil
}

// said completes the sentence that begins with the object's name. It speaks of the object as it was before.
func (o *suspendOptions) said(object client.Object, changed bool) string {
	root, isInstallation := object.(*lsv1alpha1.Installation)
	switch {
	case o.change.Resume && !changed:
		return "is not suspended"
	case !changed:
		return "is already suspended"
	case !isInstallation && o.change.Resume:
		return "is resumed"
	case !isInstallation:
		return "is suspended"
	case o.change.Resume:
		return o.saidOfResumed(root)
	default:
		return saidOfSuspended(root)
	}
}

func (o *suspendOptions) saidOfResumed(root *lsv1alpha1.Installation) string {
	switch {
	case follow.AfterResume(root, o.env.Now()) == nil:
		return "is resumed"
	case !nodeOf(root).HeldBack():
		return "is resumed; what was requested starts when the current run has finished"
	default:
		return "is resumed; what was requested starts now"
	}
}

func saidOfSuspended(root *lsv1alpha1.Installation) string {
	switch {
	case !root.DeletionTimestamp.IsZero():
		return "is suspended, which does not stop its deletion"
	case nodeOf(root).State() == objecttree.Running:
		return "is suspended; the run that has started finishes"
	default:
		return "is suspended"
	}
}

func nodeOf(root *lsv1alpha1.Installation) *objecttree.Node { return objecttree.NodeOf(root) }

func kindOf(object client.Object) string {
	if _, ok := object.(*lsv1alpha1.Installation); ok {
		return kindInstallation
	}
	return kindPipeline
}

func (r suspendResult) resourceName() string {
	if r.Kind == kindPipeline {
		return kindPipeline + "." + pipelines.GroupName + "/" + r.Name
	}
	return display.ResourceName(objecttree.Installation, r.Name)
}

func (o *suspendOptions) print(all suspendResults, format display.Format) error {
	printer := display.To(o.env, o.env.Out)
	if format != display.FormatName && format != display.FormatText {
		return printer.Data(all, format)
	}
	for _, r := range all.Results {
		line := fmt.Sprintf("%s %s %s", r.Kind, r.Name, r.Message)
		if format == display.FormatName {
			line = r.resourceName()
		}
		if err := printer.Lines(display.Clean(line)); err != nil {
			return err
		}
	}
	return nil
}
