// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package request

import (
	"cmp"
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/cli"
	"espalier.dev/internal/cli/follow"
)

// resumeAndWait resumes installations, and waits for the runs that were held back.
func (o *suspendOptions) resumeAndWait(ctx context.Context, requester *Requester, objects []client.Object) error {
	roots, err := requester.onlyInstallations(objects)
	if err != nil {
		return err
	}
	var started []follow.Started
	for _, root := range roots {
		goal := follow.AfterResume(root, o.env.Now())
		changed, err := requester.asker().Suspend(ctx, root, o.change)
		if err != nil {
			return cmp.Or(o.flags.Abandon(requester.Namespace, started), requester.explain(err))
		}
		started = append(started, o.resumed(root, goal, changed))
	}
	return o.flags.Done(ctx, requester.Namespace, started)
}

// resumed is what to wait for after the resumption, which may be nothing.
func (o *suspendOptions) resumed(root *lsv1alpha1.Installation, goal follow.Goal, changed bool) follow.Started {
	said := o.said(root, changed)
	if changed && goal != nil {
		return follow.Started{Awaited: follow.Awaited{Name: root.Name, Goal: goal}, Said: said}
	}
	if changed {
		said += "; nothing was held back"
	}
	return follow.Started{Awaited: follow.Awaited{Name: root.Name, Goal: follow.Nothing{Verdict: said}}}
}

// onlyInstallations is an error if there is a pipeline among objects, which has no run to wait for.
func (r *Requester) onlyInstallations(objects []client.Object) ([]*lsv1alpha1.Installation, error) {
	var roots []*lsv1alpha1.Installation
	for _, object := range objects {
		root, ok := object.(*lsv1alpha1.Installation)
		if !ok {
			name := object.GetName()
			return nil, &cli.Problem{
				Code: cli.ExitError, Where: r.Access.Where(r.Namespace),
				What: "--wait waits for runs of installations, and pipeline " + name + " has none: resume it without --wait",
				Next: []string{
					r.Access.Suggest(r.Namespace, "resume", kindPipeline+"/"+name), r.Access.Suggest(r.Namespace, "pipeline", "status", name),
				},
			}
		}
		roots = append(roots, root)
	}
	return roots, nil
}
