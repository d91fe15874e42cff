// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package request

import (
	"context"
	"errors"
	"fmt"
	"strings"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/cli"
	"espalier.dev/internal/cli/inventory"
	"espalier.dev/internal/objecttree"
)

// A forced deletion leaves everything in place that was deployed and waits for nobody but the controllers. It removes no finalizer: if the
// controllers do not answer, the user gets the commands that do.

// check finds mistakes before anything is read.
func (o *deleteOptions) check() error {
	if o.yes && !o.force {
		return errors.New("--yes only goes with --force: other deletions ask for no confirmation")
	}
	return nil
}

// forewarn lists what a selector has chosen. It says what a forced deletion leaves behind, and asks for confirmation.
func (o *deleteOptions) forewarn(ctx context.Context, requester *Requester, roots []*lsv1alpha1.Installation) error {
	var names []string
	for _, root := range roots {
		names = append(names, root.Name)
	}
	if !o.force {
		return requester.listChosen(names)
	}
	fmt.Fprintf(o.env.ErrOut, "This deletes %s and everything below, and uninstalls nothing.\n", installations(names))
	trees, err := inventory.PrintLeft(ctx, o.env, requester.Access, names)
	if err != nil {
		return err
	}
	fmt.Fprintln(o.env.ErrOut, "Deployers that do not record objects may leave others.")
	for _, tree := range trees {
		for _, successor := range tree.Successors() {
			fmt.Fprintf(o.env.ErrOut, "Installation %s imports from %s, and loses these imports.\n", successor.Name(), tree.Name())
		}
	}
	if o.yes || o.env.Confirm() {
		return nil
	}
	return &cli.Problem{
		Code: cli.ExitError, What: "not confirmed, so nothing was deleted", Where: requester.Access.Where(requester.Namespace),
		Next: []string{"answer yes, or run the command with --yes"},
	}
}

// listChosen names the installations that a selector has chosen for deletion.
func (r *Requester) listChosen(names []string) error {
	selector, err := r.Access.Selector()
	if err != nil || selector == nil {
		return err
	}
	r.Access.Tell("Deleting %s, with everything below.", installations(names))
	return nil
}

// installations names one or several installations.
func installations(names []string) string {
	if len(names) == 1 {
		return "installation " + names[0]
	}
	return "installations " + strings.Join(names, ", ")
}

// insist requests the deletion of a tree that nothing holds up, and remembers the tree as it was before, because every difference is an
// answer of the controllers.
func (o *deleteOptions) insist(ctx context.Context, requester *Requester, root *lsv1alpha1.Installation) error {
	forest, namespace, err := requester.Access.ReadForest(ctx, []string{root.Name})
	if err != nil {
		return err
	}
	if err := requester.asker().DeleteAnyway(ctx, root); err != nil {
		return requester.explain(err)
	}
	tree := forest.Installation(namespace, root.Name)
	if tree == nil || tree.Object.GetUID() != root.UID {
		return nil // It was gone before.
	}
	o.asked = append(o.asked, tree)
	return requester.thaw(ctx, root, tree)
}

// thaw has what is frozen below a tree take part.
func (r *Requester) thaw(ctx context.Context, root *lsv1alpha1.Installation, tree *objecttree.Node) error {
	var frozen []*objecttree.Node
	tree.Walk(func(node *objecttree.Node) {
		if node != tree && node.Object.GetAnnotations()[lsv1alpha1.IgnoreAnnotation] == "true" {
			frozen = append(frozen, node)
		}
	})
	for _, node := range frozen {
		if err := r.asker().Thaw(ctx, root, node.Object); err != nil {
			return r.explain(err)
		}
	}
	return nil
}
