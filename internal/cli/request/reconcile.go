// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package request

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/cli"
	"espalier.dev/internal/cli/follow"
	"espalier.dev/internal/installation"
)

// Reconcile is what the command "espalier reconcile" does.
func Reconcile() Command {
	return Command{
		Until: "the job has finished",
		Verb:  func() []string { return []string{"reconcile"} },
		Check: checkJob,
		Ask:   askForJob,
	}
}

// NewReconcile returns the command "espalier reconcile".
func NewReconcile(env cli.Environment) *cobra.Command {
	return Reconcile().Complete(env, &cobra.Command{
		Use:   "reconcile (NAME... | -l SELECTOR)",
		Short: "Request a job of installations",
		Long: `Request a job: one walk through the whole tree of a root installation that brings
everything up to date. A running job is not disturbed; the new one starts when it has
finished. After a failed deletion, the job deletes.

With --wait, the command waits for the requested job. In a terminal it shows the tree
meanwhile, elsewhere it prints a line for each change, both on standard error. Ctrl-C
detaches without affecting the job.

In the continuous flow, which has no jobs, the request checks everything again and
retries what failed. --wait then waits until the installation is at rest.`,
		Example: `  espalier reconcile shop
  espalier reconcile shop blog --wait --timeout 20m
  espalier reconcile -l team=shop --wait
  espalier reconcile shop --wait -o json`,
	})
}

func askForJob(ctx context.Context, requester *Requester, root *lsv1alpha1.Installation) (follow.Started, error) {
	asked, already, err := requester.Reconcile(ctx, root)
	if err != nil {
		return follow.Started{}, err
	}
	return follow.Started{
		Awaited: follow.Awaited{Name: root.Name, Goal: follow.AfterRequest(asked)}, Said: saidOfJob(asked, already),
	}, nil
}

// checkJob rejects what cannot lead to a job.
func checkJob(requester *Requester, root *lsv1alpha1.Installation) error {
	access := requester.Access
	if !root.DeletionTimestamp.IsZero() && !follow.DeletionFailed(root) {
		return &cli.Problem{
			Code:  cli.ExitError,
			What:  fmt.Sprintf("installation %s is being deleted: it gets no new job", root.Name),
			Where: access.Where(requester.Namespace),
			Next:  []string{access.Suggest(requester.Namespace, "wait", root.Name, "--for=deleted")},
		}
	}
	return nil
}

func saidOfJob(asked *lsv1alpha1.Installation, already bool) string {
	if s := installation.SuspensionOf(asked); s.On && asked.DeletionTimestamp.IsZero() {
		return "is " + s.String() + ": the requested job starts when it is resumed"
	}
	if installation.FlowOf(asked) == lsv1alpha1.FlowContinuous {
		if already {
			return "already has a pending reconcile request"
		}
		return "will be reconciled"
	}
	text := "will run a job"
	if already {
		text = "already has a requested job"
	}
	if !asked.Status.IsFinished() {
		text += ", which starts when the running one has finished"
	}
	return text
}
