// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package request

import (
	"context"

	"github.com/spf13/cobra"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/cli"
	"espalier.dev/internal/cli/follow"
)

type deleteOptions struct{ withoutUninstall bool }

// NewDelete returns the command "espalier delete".
func NewDelete(env cli.Environment) *cobra.Command {
	var opts deleteOptions
	cmd := &cobra.Command{
		Use:   "delete NAME...",
		Short: "Delete installations and everything they deployed",
		Long: `Delete root installations with everything below them, and uninstall what they
deployed. A job that only waits ends; one that has started to install finishes first:
interrupt it if that takes too long. An installation from which others import waits
until those are deleted. A failed deletion is retried.

With --without-uninstall, the objects of the tree are deleted, and everything that they
deployed stays in place, unmanaged. It takes effect at any time: also on a deletion that
waits for a missing or unreachable target, and on a failed one.`,
		Example: `  espalier delete shop --wait
  espalier delete shop --without-uninstall`,
	}
	cmd.Flags().BoolVar(&opts.withoutUninstall, "without-uninstall", false, "leave deployed objects in place")
	return Command{Until: "nothing of the tree is left", Verb: opts.verb, Ask: opts.start}.Complete(env, cmd)
}

func (o *deleteOptions) verb() []string {
	if o.withoutUninstall {
		return []string{"delete", "--without-uninstall"}
	}
	return []string{"delete"}
}

// start deletes one tree. A deletion that has failed is tried again by a new job, for the object is marked already; one that is now to
// leave behind what was deployed goes on by itself.
func (o *deleteOptions) start(ctx context.Context, requester *Requester, root *lsv1alpha1.Installation) (follow.Started, error) {
	again := !root.DeletionTimestamp.IsZero()
	started := follow.Started{Awaited: follow.Awaited{Name: root.Name, Goal: follow.NewGone(root)}, Said: "is being deleted"}
	if again {
		started.Said = "was being deleted already"
	}
	if err := requester.Delete(ctx, root, o.withoutUninstall); err != nil {
		return started, err
	}
	failed := again && root.Status.Phase == lsv1alpha1.PhaseDeleteFailed && root.Status.IsFinished()
	if failed && o.withoutUninstall && root.Annotations[lsv1alpha1.DeleteWithoutUninstallAnnotation] != "true" {
		started.Said = "could not be deleted before, and is let go"
		return started, nil
	}
	if failed {
		asked, _, err := requester.Reconcile(ctx, root)
		if err != nil {
			return started, err
		}
		started.Goal, started.Said = follow.NewJobOfRequest(asked), "could not be deleted before, and is tried again"
	}
	return started, nil
}
