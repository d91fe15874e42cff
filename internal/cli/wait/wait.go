// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package wait is the command "espalier wait".
package wait

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"espalier.dev/internal/cli"
	"espalier.dev/internal/cli/connect"
	"espalier.dev/internal/cli/follow"
	"espalier.dev/internal/cli/pipeline"
	"espalier.dev/internal/cli/request"
	"espalier.dev/internal/objecttree"
)

const (
	forSucceeded = "succeeded"
	forFinished  = "finished"
	forDeleted   = "deleted"
)

// Flags that only pipelines have.
const (
	environmentFlag = "environment"
	revisionFlag    = "revision"
)

// goals are the values of the flag --for for installations.
var goals = map[string]func() follow.Goal{
	forSucceeded: func() follow.Goal { return &follow.Finished{Successfully: true} },
	forFinished:  func() follow.Goal { return &follow.Finished{} },
	forDeleted:   func() follow.Goal { return &follow.Gone{} },
}

type options struct {
	env         cli.Environment
	access      *connect.Access
	flags       *follow.Flags
	goal        string
	environment string
	revision    string
	names       []string
}

// New returns the command.
func New(env cli.Environment) *cobra.Command {
	opts := options{env: env}
	cmd := &cobra.Command{
		Use:   "wait (KIND/NAME... | -l SELECTOR)",
		Short: "Wait for jobs of installations, and for revisions in pipelines",
		Long: `Wait for root installations, or for pipelines. NAME or installation/NAME is an
installation, pipeline/NAME a pipeline. For installations:

  --for=succeeded  until the running or requested job has finished; exit code 2 if it
                   failed. If there is none, the last job counts.
  --for=finished   the same, but exit code 0 even if it failed.
  --for=deleted    until nothing of the tree is left; exit code 2 if the deletion
                   failed.

In the continuous flow, which has no jobs, the first two wait until the installation is
at rest and its status reflects the current spec.

For pipelines:

  --for=reached         until the revision has reached all environments (default).
  --for=needs-approval  until a promotion waits for approval.
  --for=needs-merge     until a pull request waits for its merge.
  --for=ready           until the condition Ready is True.
  --for=deleted         until the pipeline is gone.

--environment and --revision narrow the first three to one environment and one revision.
Without --revision, the revision is the one that the first environment has. The exit code
is 2 if the revision cannot get there because a promotion has failed or was rejected.

The command starts nothing. In a terminal it shows the tree of installations meanwhile,
elsewhere and for pipelines a line for each change, both on standard error. Ctrl-C ends
the wait and nothing else.

` + connect.FlagsHelp,
		Example: `  espalier wait shop
  espalier wait shop blog --for=finished --timeout 1h
  espalier wait -l team=shop
  espalier wait shop --for=deleted
  espalier wait pipeline/shop --environment production --revision 1.1.0
  espalier wait pipeline/shop --for=needs-approval --timeout 1h`,
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.names = args
			return run(cmd.Context(), opts)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&opts.goal, "for", "", "what to wait for: "+forSucceeded+" (default), "+forFinished+" or "+forDeleted+
		"; for pipelines "+pipeline.Goals[0]+" (default), "+strings.Join(pipeline.Goals[1:], ", "))
	flags.StringVar(&opts.environment, environmentFlag, "", "environment of the pipeline (default: all)")
	flags.StringVar(&opts.revision, revisionFlag, "", "revision in the pipeline (default: the one that the first environment has)")
	if err := cmd.RegisterFlagCompletionFunc("for", completeGoals); err != nil {
		panic(err) // The flag is defined above.
	}
	opts.access = connect.AddFlags(cmd, env)
	opts.access.AddSelector(connect.RootInstallations)
	cmd.Args = opts.access.NamesOrSelector(1)
	opts.flags = follow.AddWaitFlags(cmd, env, opts.access)
	cmd.ValidArgsFunction = opts.access.CompleteRootsAndPipelines
	return cmd
}

// completeGoals offers what can be waited for, depending on what is named.
func completeGoals(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	offered := slices.Sorted(maps.Keys(goals))
	if pipelines, err := pipelineNames(args); err == nil && len(pipelines) > 0 {
		offered = pipeline.Goals
	}
	return offered, cobra.ShellCompDirectiveNoFileComp
}

// pipelineNames returns the names of the pipelines among the arguments, each once. They are either all pipelines, or none is.
func pipelineNames(args []string) ([]string, error) {
	var names []string
	others := 0
	for _, argument := range args {
		name, isPipeline := connect.PipelineName(argument)
		switch {
		case !isPipeline:
			others++
		case !slices.Contains(names, name):
			names = append(names, name)
		}
	}
	if len(names) > 0 && others > 0 {
		return nil, errors.New("installations and pipelines have different goals: wait for them with two commands")
	}
	return names, nil
}

func run(ctx context.Context, opts options) error {
	if err := opts.flags.Check(); err != nil {
		return err
	}
	pipelines, err := pipelineNames(opts.names)
	switch {
	case err != nil:
		return err
	case len(pipelines) > 0:
		return opts.forPipelines(ctx, pipelines)
	case opts.environment != "" || opts.revision != "":
		return fmt.Errorf("--%s and --%s are for pipelines: name one as pipeline/NAME", environmentFlag, revisionFlag)
	}
	return opts.forInstallations(ctx)
}

func (o options) forPipelines(ctx context.Context, names []string) error {
	awaited := pipeline.Awaited{Goal: cmp.Or(o.goal, pipeline.Goals[0]), Environment: o.environment, Revision: o.revision}
	if err := awaited.Check(); err != nil {
		return err
	}
	format, err := o.flags.Format().Get()
	if err != nil {
		return err
	}
	return pipeline.Wait{
		Env: o.env, Access: o.access, Names: names, Awaited: awaited, Timeout: o.flags.Timeout(), Format: format,
	}.Run(ctx)
}

func (o options) forInstallations(ctx context.Context) error {
	o.goal = cmp.Or(o.goal, forSucceeded)
	newGoal, known := goals[o.goal]
	if !known {
		return fmt.Errorf("--for is %q: for installations it takes %s, %s or %s", o.goal, forSucceeded, forFinished, forDeleted)
	}
	requester, err := request.NewRequester(o.access)
	if err != nil {
		return err
	}
	names, err := o.choose(ctx, requester)
	if err != nil {
		return err
	}
	var started []follow.Started
	for _, name := range names {
		started = append(started, follow.Started{Awaited: follow.Awaited{Name: name, Goal: newGoal()}})
	}
	return o.flags.Done(ctx, requester.Namespace, started)
}

// choose returns the names of the root installations to wait for. One that is named may be gone already if its deletion is awaited.
func (o options) choose(ctx context.Context, requester *request.Requester) ([]string, error) {
	if len(o.names) == 0 {
		roots, err := requester.Roots(ctx, nil, "wait")
		var chosen []string
		for _, root := range roots {
			chosen = append(chosen, root.Name)
		}
		return chosen, err
	}
	names, err := objecttree.InstallationNames(o.names)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		_, err := requester.Roots(ctx, []string{name}, "wait", "--for="+o.goal)
		if err != nil && !(o.goal == forDeleted && isAbsent(err)) {
			return nil, err
		}
	}
	return names, nil
}

// isAbsent tells an installation that does not exist from one that may not be seen.
func isAbsent(err error) bool {
	var problem *cli.Problem
	return errors.As(err, &problem) && apierrors.IsNotFound(problem.Cause)
}
