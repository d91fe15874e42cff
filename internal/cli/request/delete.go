// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package request

import (
	"context"
	"errors"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/cli"
	"espalier.dev/internal/cli/follow"
	"espalier.dev/internal/installation"
	"espalier.dev/internal/objecttree"
)

type deleteOptions struct {
	env              cli.Environment
	withoutUninstall bool
	force, yes       bool
	// asked are the trees of a forced deletion, as they were before it was requested.
	asked []*objecttree.Node
}

// NewDelete returns the command "espalier delete".
func NewDelete(env cli.Environment) *cobra.Command {
	opts := deleteOptions{env: env}
	cmd := &cobra.Command{
		Use:   "delete (NAME... | -l SELECTOR)",
		Short: "Delete installations and everything they deployed",
		Long: `Delete root installations with everything below them, and uninstall what they
deployed. A job that only waits ends; one that has started to install finishes first:
interrupt it if that takes too long. An installation from which others import waits
until those are deleted. A failed deletion is retried.

With --without-uninstall, the objects of the tree are deleted, and everything that they
deployed stays in place, unmanaged. It takes effect at any time: also on a deletion that
waits for a missing or unreachable target, and on a failed one.

With --force, the deletion waits for nothing but the controllers: everything that was
deployed stays in place, as with --without-uninstall, and installations that import from
this one are ignored. The command lists the objects that stay, asks for confirmation, and
waits until nothing of the tree is left. If the controllers do not answer, it prints the
commands that remove the finalizers; it removes none itself.

With --selector, the command first lists what it deletes.`,
		Example: `  espalier delete shop --wait
  espalier delete -l team=shop --wait
  espalier delete shop --without-uninstall
  espalier delete shop --force
  espalier delete shop --force --yes --timeout 1m`,
	}
	cmd.Flags().BoolVar(&opts.withoutUninstall, "without-uninstall", false, "leave deployed objects in place")
	cmd.Flags().BoolVar(&opts.force, "force", false, "delete at once, leave deployed objects in place, and list them")
	cmd.Flags().BoolVarP(&opts.yes, "yes", "y", false, "do not ask for confirmation with --force")
	cmd = Command{
		Until: "nothing of the tree is left", Verb: opts.verb, Before: opts.forewarn, Ask: opts.start, After: opts.conclude,
	}.Complete(env, cmd)
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) error {
		if err := opts.check(); err != nil || !opts.force {
			return err
		}
		if err := contradiction(cmd.Flags()); err != nil {
			return err
		}
		opts.withoutUninstall = true
		return cmd.Flags().Set("wait", "true")
	}
	return cmd
}

// contradiction is the error for flags that deny what --force implies.
func contradiction(flags *pflag.FlagSet) error {
	denied := func(name string) bool { return flags.Changed(name) && flags.Lookup(name).Value.String() == "false" }
	switch {
	case denied("wait"):
		return errors.New("--force always waits: omit --wait=false")
	case denied("without-uninstall"):
		return errors.New("--force uninstalls nothing: omit --without-uninstall=false")
	case flags.Changed("timeout") && flags.Lookup("timeout").Value.String() == "0s":
		return errors.New("--force needs a time limit, because it would wait forever without controllers: omit --timeout=0")
	}
	return nil
}

func (o *deleteOptions) verb() []string {
	if o.force {
		return []string{"delete", "--force"}
	}
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
		started.Said = "is already being deleted"
	}
	if err := o.remove(ctx, requester, root); err != nil {
		return started, err
	}
	failed := again && follow.DeletionFailed(root)
	if failed && o.withoutUninstall && !installation.IsMarked(root, lsv1alpha1.DeleteWithoutUninstallAnnotation) {
		started.Said = "has a failed deletion; now deleted without uninstalling"
		return started, nil
	}
	if failed {
		asked, _, err := requester.Reconcile(ctx, root)
		if err != nil {
			return started, err
		}
		started.Goal, started.Said = follow.AfterRequest(asked), "has a failed deletion; retrying"
	}
	return started, nil
}

// remove requests the deletion.
func (o *deleteOptions) remove(ctx context.Context, requester *Requester, root *lsv1alpha1.Installation) error {
	if o.force {
		return o.insist(ctx, requester, root)
	}
	return requester.Delete(ctx, root, o.withoutUninstall)
}
