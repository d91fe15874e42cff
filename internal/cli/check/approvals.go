// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"context"
	"fmt"
	"slices"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	pipelines "espalier.dev/api/pipelines/v1alpha1"
)

// approvalPolicy is the name of the admission policy that makes approving a separate right, and of its binding.
const approvalPolicy = "espalier-approvals"

// approvals checks that the admission policy is installed if promotions need an approval. It may be turned off on purpose, so its absence
// is only a warning.
func (e *examination) approvals(ctx context.Context, list []pipelines.Pipeline) {
	guarded := slices.IndexFunc(list, func(p pipelines.Pipeline) bool { return NeedsApproval(&p) })
	if guarded < 0 {
		return
	}
	for _, part := range []struct {
		kind   string
		object client.Object
	}{
		{"ValidatingAdmissionPolicy", &admissionv1.ValidatingAdmissionPolicy{}},
		{"ValidatingAdmissionPolicyBinding", &admissionv1.ValidatingAdmissionPolicyBinding{}},
	} {
		err := e.Client.Get(ctx, client.ObjectKey{Name: approvalPolicy}, part.object)
		switch {
		case apierrors.IsNotFound(err):
			e.add(Doubtful, part.kind+" "+approvalPolicy,
				fmt.Sprintf("does not exist, so everybody who may patch a Pipeline can approve its promotions, in any name: for example those of %s/%s",
					list[guarded].Namespace, list[guarded].Name),
				"install it (docs/approvals.md), or ignore this if you have turned it off")
			return
		case err != nil:
			e.unknown(part.kind+" "+approvalPolicy, err)
			return
		}
	}
}

// NeedsApproval reports whether a promotion of a pipeline needs an approval.
func NeedsApproval(p *pipelines.Pipeline) bool {
	return slices.ContainsFunc(p.Spec.Environments, func(environment pipelines.Environment) bool {
		promotion := p.Spec.PromotionTo(environment)
		return promotion != nil && promotion.Manual
	})
}
