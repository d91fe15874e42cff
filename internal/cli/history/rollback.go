// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/cli"
	"espalier.dev/internal/cli/connect"
	"espalier.dev/internal/cli/display"
	"espalier.dev/internal/cli/follow"
	"espalier.dev/internal/cli/manifest"
	"espalier.dev/internal/cli/request"
	"espalier.dev/internal/installation"
)

type rollback struct {
	env    cli.Environment
	access *connect.Access
	follow *follow.Flags
	// to is the revision; 0 if the command chooses it.
	to     int64
	yes    bool
	dryRun manifest.DryRun
}

// NewRollback returns the command "espalier rollback".
func NewRollback(env cli.Environment) *cobra.Command {
	r := &rollback{env: env}
	cmd := &cobra.Command{
		Use:   "rollback NAME",
		Short: "Restore an earlier spec of an installation",
		Long: `Replace the spec of a root installation with that of an earlier revision, and run a
job. Without --to, that is the newest earlier revision that succeeded. The command
shows what changes and asks for confirmation. "espalier history" lists the revisions.

Only the spec goes back. What the blueprint deploys follows from it: values of imported
DataObjects, Secrets and ConfigMaps, the content of Targets, and data that the deployed
software has changed stay as they are. Whatever writes the spec, such as Flux or Argo
CD, may replace it again: change the manifest at its source as well.

A running job continues, and the new one starts when it has finished. In the continuous
flow, the installation updates itself without a job, and --wait waits until it is at
rest.

` + connect.FlagsHelp,
		Example: `  espalier rollback shop
  espalier rollback shop --dry-run
  espalier rollback shop --to 2 --yes --wait`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := r.check(cmd); err != nil {
				return err
			}
			return r.run(cmd.Context(), args)
		},
	}
	flags := cmd.Flags()
	flags.Int64Var(&r.to, toFlag, 0, "the revision to go back to (default the newest earlier one that succeeded)")
	flags.BoolVarP(&r.yes, "yes", "y", false, "do not ask for confirmation")
	r.dryRun.AddFlag(cmd, manifest.DryRunServer, "only show what would change: client (check nothing), server (let the API server check it)")
	r.access = connect.AddFlags(cmd, env)
	r.follow = follow.AddStartFlags(cmd, env, r.access, "the job has finished")
	cmd.ValidArgsFunction = connect.CompleteOne(r.access.CompleteInstallations(connect.RootInstallations))
	completeRevisions(cmd, r.access, toFlag)
	return cmd
}

const toFlag = "to"

// check finds mistakes in the flags.
func (r *rollback) check(cmd *cobra.Command) error {
	if err := r.dryRun.Check(); err != nil {
		return err
	}
	switch dry := r.dryRun != manifest.NoDryRun; {
	case dry && r.follow.Waits():
		return errors.New("--dry-run starts no job to wait for: leave out --wait")
	case dry && cmd.Flags().Changed("output"):
		return errors.New("--dry-run prints a diff: leave out --output")
	case cmd.Flags().Changed(toFlag) && r.to < 1:
		return fmt.Errorf("--to is %d: it must be a revision number of 1 or more", r.to)
	}
	return r.follow.Check()
}

func (r *rollback) run(ctx context.Context, names []string) error {
	c, err := r.prepare(ctx, names)
	if err != nil {
		return err
	}
	if r.dryRun != manifest.NoDryRun {
		return r.pretend(ctx, c)
	}
	if err := r.show(r.env.ErrOut, c); err != nil {
		return err
	}
	if err := r.confirm(c); err != nil {
		return err
	}
	started, err := c.apply(ctx)
	if err != nil {
		return err
	}
	return r.follow.Done(ctx, c.Namespace, []follow.Started{started})
}

// prepare finds out what to change, and rejects what cannot be.
func (r *rollback) prepare(ctx context.Context, names []string) (change, error) {
	requester, err := request.NewRequester(r.access)
	if err != nil {
		return change{}, err
	}
	roots, err := requester.Roots(ctx, names, r.verb()...)
	if err != nil {
		return change{}, err
	}
	c := change{past: past{Connection: requester.Connection, root: roots[0]}, requester: requester}
	if !c.root.DeletionTimestamp.IsZero() {
		problem := c.problem("installation %s is being deleted: it cannot be rolled back", c.root.Name)
		problem.Next = []string{c.Access.Suggest(c.Namespace, "wait", c.root.Name, "--for=deleted")}
		return change{}, problem
	}
	if c.revision, err = c.choose(r.to); err != nil {
		return change{}, err
	}
	if c.spec, err = c.past.spec(c.revision); err != nil {
		return change{}, err
	}
	if c.revision.SpecHash == installation.SpecHash(c.root.Spec) {
		problem := c.problem("installation %s already has the spec of revision %d, so nothing was changed", c.root.Name, c.revision.Revision)
		problem.Next = []string{c.Access.Suggest(c.Namespace, "reconcile", c.root.Name)}
		return change{}, problem
	}
	return c, nil
}

// verb is what suggestions repeat.
func (r *rollback) verb() []string {
	if r.to == 0 {
		return []string{"rollback"}
	}
	return []string{"rollback", "--to", fmt.Sprint(r.to)}
}

// choose returns the revision of that number, or without one the newest that succeeded among those before the present spec.
func (p past) choose(number int64) (lsv1alpha1.SpecRevision, error) {
	if number != 0 {
		return p.find(number)
	}
	present, earlier := installation.SpecHash(p.root.Spec), p.root.Status.History
	for i, revision := range earlier {
		if revision.SpecHash == present {
			earlier = earlier[i+1:]
			break
		}
	}
	for _, revision := range earlier {
		if revision.SucceededTime != nil && revision.SpecHash != present {
			return revision, nil
		}
	}
	problem := p.problem("installation %s has no earlier revision that succeeded", p.root.Name)
	problem.Next = []string{p.Access.Suggest(p.Namespace, "history", p.root.Name)}
	if len(earlier) > 0 {
		problem.What += ": choose a revision with --to"
	}
	return lsv1alpha1.SpecRevision{}, problem
}

// show tells the user what changes, and what to know about it.
func (r *rollback) show(w io.Writer, c change) error {
	root := c.root
	if err := compare(w, display.To(r.env, w), presentSide(root), revisionSide(c.revision, c.spec)); err != nil {
		return err
	}
	if c.revision.SucceededTime == nil {
		r.access.Tell("warning: no job with the spec of revision %d has succeeded.", c.revision.Revision)
	}
	if manager := manifest.ManagerOf(root); manager != "" {
		r.access.Tell("warning: installation %s is managed by %s, which will undo the rollback. "+
			"Change the manifest at its source as well, or suspend its manager first.", root.Name, display.Clean(manager))
	}
	if !root.Status.IsFinished() {
		r.access.Tell("note: job %s of installation %s is running. It continues, and the next job starts when it has finished.",
			display.Clean(root.Status.JobID), root.Name)
	}
	if suspension := installation.SuspensionOf(root); suspension.On {
		r.access.Tell("note: installation %s is %s. Nothing runs until you resume it.", root.Name, display.Clean(suspension.String()))
	}
	return nil
}

// confirm asks, unless the user has confirmed beforehand.
func (r *rollback) confirm(c change) error {
	if r.yes {
		return nil
	}
	fmt.Fprintf(r.env.ErrOut, "This rolls installation %s back to revision %d, %s.\n",
		c.root.Name, c.revision.Revision, c.Access.Where(c.Namespace))
	if r.env.Confirm() {
		return nil
	}
	problem := c.problem("not confirmed, so nothing was changed")
	problem.Next = []string{"answer yes, or run the command with --yes"}
	return problem
}

// pretend shows the change, after the API server has checked it if the user wants that.
func (r *rollback) pretend(ctx context.Context, c change) error {
	if r.dryRun == manifest.DryRunServer {
		if _, err := c.write(ctx, client.DryRunAll); err != nil {
			return err
		}
	}
	if err := r.show(r.env.Out, c); err != nil {
		return err
	}
	r.access.Tell("Dry run: installation %s was not rolled back to revision %d.", c.root.Name, c.revision.Revision)
	return nil
}

// change gives an installation the spec of a revision.
type change struct {
	past
	requester *request.Requester
	revision  lsv1alpha1.SpecRevision
	spec      json.RawMessage
}

// apply replaces the spec and asks for a job. One write does both unless another operation is still pending.
func (c change) apply(ctx context.Context) (follow.Started, error) {
	written, err := c.write(ctx)
	if err != nil {
		return follow.Started{}, err
	}
	started := follow.Started{
		Awaited: follow.Awaited{Name: written.Name, Goal: follow.NewJobOfRequest(written)},
		Said:    fmt.Sprintf("is restored to the spec of revision %d, and will run a job", c.revision.Revision),
	}
	if !c.runsJobs() {
		started.Said = fmt.Sprintf("is restored to the spec of revision %d, and updates itself", c.revision.Revision)
		started.Goal = &follow.Finished{Successfully: true}
		return started, nil
	}
	asked, already, err := c.requester.Reconcile(ctx, written)
	if err != nil {
		var problem *cli.Problem
		if errors.As(err, &problem) {
			problem.What = fmt.Sprintf("installation %s is restored to the spec of revision %d, but no job was requested: %s",
				written.Name, c.revision.Revision, problem.What)
			problem.Next = append(problem.Next, c.Access.Suggest(c.Namespace, "reconcile", written.Name))
		}
		return follow.Started{}, err
	}
	if !already {
		started.Goal = follow.NewJobOfRequest(asked)
	}
	if !asked.Status.IsFinished() {
		started.Said += ", which starts when the running one has finished"
	}
	return started, nil
}

// runsJobs reports whether the installation follows the flow of jobs once it has the spec.
func (c change) runsJobs() bool {
	var next struct {
		Flow lsv1alpha1.Flow `json:"flow"`
	}
	return json.Unmarshal(c.spec, &next) == nil && next.Flow.OrDefault() == lsv1alpha1.FlowJob
}

// write replaces the spec that the user has seen, and no other: writes of controllers in between do not matter, those of people do.
func (c change) write(ctx context.Context, options ...client.PatchOption) (*lsv1alpha1.Installation, error) {
	current := c.root
	for {
		patch, err := c.patch(current)
		if err != nil {
			return nil, err
		}
		written := current.DeepCopy()
		err = c.Client.Patch(ctx, written, client.RawPatch(types.JSONPatchType, patch), options...)
		switch {
		case err == nil:
			return written, nil
		case !apierrors.IsConflict(err):
			return nil, c.Access.Explain(err, "roll back installation "+c.root.Name, c.Namespace)
		}
		roots, err := c.requester.Roots(ctx, []string{c.root.Name}, "rollback")
		if err != nil {
			return nil, err
		}
		if current = roots[0]; current.UID != c.root.UID || current.Generation != c.root.Generation {
			problem := c.problem("installation %s was changed by another client at the same time, so nothing was changed", c.root.Name)
			problem.Next = []string{c.Access.Suggest(c.Namespace, "history", c.root.Name)}
			return nil, problem
		}
	}
}

// patch replaces the spec of exactly this version of the object, and asks for a job. If something else is asked for already, that comes
// first. In the continuous flow, the new spec is enough.
func (c change) patch(current *lsv1alpha1.Installation) ([]byte, error) {
	type operation struct {
		Op    string `json:"op"`
		Path  string `json:"path"`
		Value any    `json:"value"`
	}
	operations := []operation{
		{"replace", "/metadata/resourceVersion", current.ResourceVersion},
		{"replace", "/spec", c.spec},
	}
	if current.Annotations[lsv1alpha1.OperationAnnotation] == "" && c.runsJobs() {
		if len(current.Annotations) == 0 {
			operations = append(operations, operation{"add", "/metadata/annotations", map[string]string{}})
		}
		path := "/metadata/annotations/" + strings.ReplaceAll(strings.ReplaceAll(lsv1alpha1.OperationAnnotation, "~", "~0"), "/", "~1")
		operations = append(operations, operation{"add", path, string(lsv1alpha1.OperationReconcile)})
	}
	return json.Marshal(operations)
}
