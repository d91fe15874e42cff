// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package reconcile is the command "espalier reconcile".
package reconcile

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/cli"
	"espalier.dev/internal/cli/follow"
	"espalier.dev/internal/cli/request"
)

// New returns the command.
func New(env cli.Environment) *cobra.Command {
	return request.Command{
		Until: "the job has finished",
		Verb:  func() []string { return []string{"reconcile"} },
		Check: check,
		Ask:   ask,
	}.Complete(env, &cobra.Command{
		Use:   "reconcile NAME...",
		Short: "Ask for a job of installations",
		Long: `Ask for a job: one walk through the whole tree of a root installation, in which
everything is brought up to date. A job that is running is not disturbed; the new one
begins when it has finished. After a deletion that failed, the job deletes.

With --wait the command waits for the very job that it has asked for. On a terminal it
shows the tree meanwhile, elsewhere it prints a line for each change, both on standard
error. Ctrl-C detaches and leaves the job alone.`,
		Example: `  espalier reconcile shop
  espalier reconcile shop blog --wait --timeout 20m
  espalier reconcile shop --wait -o json`,
	})
}

func ask(ctx context.Context, desk *request.Desk, root *lsv1alpha1.Installation) (follow.Started, error) {
	asked, already, err := desk.Reconcile(ctx, root)
	if err != nil {
		return follow.Started{}, err
	}
	return follow.Started{
		Awaited: follow.Awaited{Name: root.Name, Goal: follow.NewJobOfRequest(asked)}, Said: said(asked, already),
	}, nil
}

// check refuses what cannot lead to a job.
func check(desk *request.Desk, root *lsv1alpha1.Installation) error {
	access, status := desk.Access, &root.Status.RunStatus
	failedDeletion := status.Phase == lsv1alpha1.PhaseDeleteFailed && status.IsFinished()
	if !root.DeletionTimestamp.IsZero() && !failedDeletion {
		return &cli.Problem{
			Code: cli.ExitError, What: fmt.Sprintf("installation %s is being deleted: it gets no new job", root.Name), Where: access.Where(desk.Namespace),
			Next: []string{access.Suggest(desk.Namespace, "wait", root.Name, "--for=deleted")},
		}
	}
	if root.Spec.Flow.OrDefault() == lsv1alpha1.FlowContinuous && desk.Waits {
		return &cli.Problem{
			Code: cli.ExitError, What: fmt.Sprintf("installation %s follows the continuous flow, which has no jobs to wait for", root.Name), Where: access.Where(desk.Namespace),
			Next: []string{
				access.Suggest(desk.Namespace, "reconcile", root.Name),
				access.SuggestKubectl(desk.Namespace, "wait", "--for=condition=Ready", "installation/"+root.Name),
			},
		}
	}
	return nil
}

func said(asked *lsv1alpha1.Installation, already bool) string {
	text := "is asked for a job"
	if already {
		text = "was asked for a job already"
	}
	if !asked.Status.IsFinished() {
		text += ", which begins when the running one has finished"
	}
	return text
}
