// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package approval

import (
	"errors"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	pipelines "espalier.dev/api/pipelines/v1alpha1"
)

// approveStatus approves the promotion that waits in an environment, or tells why it does not. An approval that was
// given before changes nothing.
func approveStatus(status *pipelines.PipelineStatus, target address, approval pipelines.Approval) (changed bool, err error) {
	environment := status.Environments[target.environment]
	promotion := environment.Promotion
	if promotion == nil || promotion.Revision != target.revision || status.Run == nil || status.Run.Number != promotion.Run {
		return false, errors.New("this revision does not wait in the current run")
	}
	if usedBefore(environment, approval.Nonce) {
		return false, errors.New("this call was made for an earlier promotion")
	}
	if given := promotion.Approval; given != nil && given.Decision == pipelines.DecisionApproved {
		return false, nil
	}
	if promotion.State != pipelines.PromotionUnapproved || environment.WaitingApproval.Revision != target.revision {
		return false, errors.New("the promotion does not wait for approval")
	}
	promotion.Approval = &approval
	promotion.State = pipelines.PromotionUnattempted
	promotion.StateTransitionTime = &metav1.Time{Time: approval.Time.Time}
	environment.WaitingApproval.Revision = ""
	status.Environments[target.environment] = environment
	return true, nil
}

func usedBefore(environment pipelines.EnvironmentStatus, nonce string) bool {
	for _, earlier := range environment.History {
		if nonce != "" && earlier.Approval != nil && earlier.Approval.Nonce == nonce {
			return true
		}
	}
	return false
}
