// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	espalier "espalier.dev/api/espalier/v1alpha1"
	pipelines "espalier.dev/api/pipelines/v1alpha1"
	"espalier.dev/internal/cli/check"
	"espalier.dev/internal/pipeline"
)

func visitPipeline(ctx context.Context, e *examination, object *unstructured.Unstructured) error {
	p := &pipelines.Pipeline{}
	if !e.read(object, p) {
		return nil
	}
	title := titleOf(object)
	if refusal := pipeline.KindRefused(p.Spec.AppRef, pipeline.DefaultKinds()); refusal.Reason != "" && len(p.Spec.Environments) > 0 {
		e.add(Finding{
			Level: check.Doubtful, Code: codeApplicationKind, Object: title, Message: refusal.Message,
			Next: []string{"start espalier-controller with --application-kinds"},
		})
	}
	if behind := lagging(p); behind != "" && !p.Spec.Suspend {
		e.add(Finding{
			Level: check.Doubtful, Code: codePromotes, Object: title,
			Message: fmt.Sprintf("environment %s does not run the revision of the one before it. Espalier needs no webhook: "+
				"its controllers promote that revision when they start", behind),
			Next: []string{
				"merge or close pull requests of the other controller",
				"to hold promotions, set spec.suspend: true between the take-over and the start of the controllers",
			},
		})
	}
	e.approvals(title, p)
	return e.grants(ctx, title, p)
}

// lagging is the first environment to which a promotion is due without anybody's approval, as far as the status tells; empty if there is
// none.
func lagging(p *pipelines.Pipeline) string {
	for i := 1; i < len(p.Spec.Environments); i++ {
		environment := p.Spec.Environments[i]
		promotion := p.Spec.PromotionTo(environment)
		if promotion == nil {
			return ""
		}
		before, here := revisionsOf(p, p.Spec.Environments[i-1].Name), revisionsOf(p, environment.Name)
		if slices.Equal(before, here) && len(here) > 0 {
			continue
		}
		if promotion.Manual {
			return ""
		}
		return environment.Name
	}
	return ""
}

// revisionsOf are those that the targets of an environment run, each once.
func revisionsOf(p *pipelines.Pipeline, environment string) []string {
	var revisions []string
	for _, target := range p.Status.Environments[environment].Targets {
		revisions = append(revisions, target.Revision)
	}
	slices.Sort(revisions)
	return slices.Compact(revisions)
}

// approvals warns of calls that Espalier answers differently.
func (e *examination) approvals(title string, p *pipelines.Pipeline) {
	if !check.NeedsApproval(p) {
		return
	}
	e.add(Finding{
		Level: check.Doubtful, Code: codeApprovals, Object: title,
		Message: "has promotions that wait for an approval. Espalier accepts calls of /approval only with a token, or with a signature " +
			"that differs for each call",
		Next: []string{
			"approve with espalier approve or the web UI, and give approvers the role espalier-approver (docs/approvals.md)",
			"or accept signatures of the old form: --approval-legacy-signatures",
		},
	})
}

// grants looks for references into other namespaces, which these have to permit.
func (e *examination) grants(ctx context.Context, title string, p *pipelines.Pipeline) error {
	var missing []pipeline.Reference
	for _, environment := range p.Spec.Environments {
		for _, target := range environment.Targets {
			r, foreign := pipeline.ReferenceOf(p.Namespace, p.Spec.AppRef, target)
			if !foreign || slices.Contains(missing, r) {
				continue
			}
			permitted, err := e.permitted(ctx, r)
			if err != nil {
				return err
			}
			if !permitted {
				missing = append(missing, r)
			}
		}
	}
	for _, r := range missing {
		e.add(Finding{
			Level: check.Doubtful, Code: codeGrantMissing, Object: title,
			Message: fmt.Sprintf("refers to %s, which namespace %s does not permit yet. Until it does, nothing is read or promoted there",
				r.To, r.To.Namespace),
			Next: []string{fmt.Sprintf("create a ReferenceGrant in namespace %s after the take-over: espalier pipeline why %s -n %s prints it",
				r.To.Namespace, p.Name, p.Namespace)},
		})
	}
	return nil
}

// permitted looks for a grant. Before the take-over there is no such kind.
func (e *examination) permitted(ctx context.Context, r pipeline.Reference) (bool, error) {
	if e.live["referencegrants."+espalier.GroupName] == nil {
		return false, nil
	}
	var grants espalier.ReferenceGrantList
	if err := e.client.List(ctx, &grants, client.InNamespace(r.To.Namespace)); err != nil {
		return false, e.access.Explain(err, "list ReferenceGrants", r.To.Namespace)
	}
	return r.PermittedBy(grants.Items), nil
}
