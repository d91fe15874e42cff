// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package request

import (
	"context"
	"errors"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/cli"
	"espalier.dev/internal/steer"
)

// takingTime is how long controllers may take to accept an operation before another can be requested.
const takingTime = 15 * time.Second

func (r *Requester) asker() steer.Asker {
	return steer.Asker{Client: r.Client, Patience: takingTime, Tell: r.Access.Tell}
}

// Reconcile asks a root for a job, as steer.Asker does.
func (r *Requester) Reconcile(
	ctx context.Context,
	root *lsv1alpha1.Installation,
) (asked *lsv1alpha1.Installation, already bool, err error) {
	asked, already, err = r.asker().Reconcile(ctx, root)
	return asked, already, r.explain(err)
}

// Interrupt asks for the end of the running job, as steer.Asker does.
func (r *Requester) Interrupt(ctx context.Context, root *lsv1alpha1.Installation) (dropped bool, err error) {
	dropped, err = r.asker().Interrupt(ctx, root)
	return dropped, r.explain(err)
}

// Delete asks for the deletion of a tree, as steer.Asker does.
func (r *Requester) Delete(ctx context.Context, root *lsv1alpha1.Installation, withoutUninstall bool) error {
	return r.explain(r.asker().Delete(ctx, root, withoutUninstall))
}

func (r *Requester) read(ctx context.Context, name string) (*lsv1alpha1.Installation, error) {
	installation, err := r.asker().ReadInstallation(ctx, client.ObjectKey{Namespace: r.Namespace, Name: name})
	return installation, r.explain(err)
}

// explain says what to do about an error.
func (r *Requester) explain(err error) error {
	var refused *steer.Error
	if errors.As(err, &refused) {
		return r.explainRefused(refused)
	}
	var notTaken *steer.NotTaken
	if errors.As(err, &notTaken) {
		return &cli.Problem{
			Code: cli.ExitError, What: notTaken.Error(), Where: r.Access.Where(r.Namespace), Cause: notTaken,
			Next: []string{r.Access.Suggest(r.Namespace, "get", notTaken.Installation, "-o", "yaml")},
		}
	}
	return err
}

func (r *Requester) explainRefused(refused *steer.Error) error {
	err := r.Access.Explain(refused.Err, refused.Attempted, r.Namespace)
	var problem *cli.Problem
	if refused.Kept != "" && errors.As(err, &problem) {
		problem.What += "; " + refused.Kept
	}
	return err
}
