// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package approval

import (
	"fmt"
	"net/http"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	pipelines "espalier.dev/api/pipelines/v1alpha1"
)

// refusedText is what clients of the API's former controller expect if nothing waits for this approval.
const refusedText = "failed approving promotion"

// recordAttempts bounds how often a write is tried that others keep overtaking.
const recordAttempts = 10

// byUnsigned stands for callers who have proved nothing.
const byUnsigned = "unsigned"

// approve is POST /approval/<namespace>/<pipeline>/<environment>/<revision>.
func (h *handler) approve(w http.ResponseWriter, r *http.Request, rest string) {
	began := h.Now()
	target, ok := parseApproval(rest)
	if !ok {
		http.NotFound(w, r)
		return
	}
	url, err := h.approveTarget(w, r, target)
	switch {
	case err != nil:
		h.answerError(w, r, began, err)
	case url != "":
		w.Header().Set("Location", url)
		w.WriteHeader(http.StatusCreated)
	default:
		w.WriteHeader(http.StatusNoContent)
	}
}

// approveTarget records the approval and returns the URL of the pull request, if one appears soon.
func (h *handler) approveTarget(w http.ResponseWriter, r *http.Request, target address) (url string, err error) {
	proof, err := h.approvalCredential(w, r)
	if err != nil {
		return "", err
	}
	pipeline, err := h.record(r, target, proof)
	if err != nil {
		return "", err
	}
	return h.awaitLocation(r.Context(), pipeline, target)
}

// approvalCredential reads the body only for the older scheme, for it counts for nothing otherwise.
func (h *handler) approvalCredential(w http.ResponseWriter, r *http.Request) (credential, error) {
	proof, err := credentialOf(r, nil, h.Now())
	if err != nil {
		return credential{}, err
	}
	if proof.older == nil {
		return proof, nil
	}
	if !h.BodySignatures {
		return credential{}, refused("signatures over the body alone are not accepted for approvals")
	}
	proof.body, err = readBody(w, r, maxBody)
	return proof, err
}

// record writes the approval into the status. Each attempt begins with what the API server has now, the key included:
// who was overtaken may have been overtaken by a change of either.
func (h *handler) record(r *http.Request, target address, proof credential) (*pipelines.Pipeline, error) {
	ctx := r.Context()
	for range recordAttempts {
		pipeline, err := h.readPipeline(ctx, target.pipeline)
		if err != nil {
			return nil, err
		}
		approval, err := h.authenticate(r, pipeline, target, proof)
		if err != nil {
			return nil, err
		}
		if err := proof.checkAge(pipeline.Status.Environments[target.environment].Promotion); err != nil {
			return nil, err
		}
		changed, err := apply(pipeline, target, approval)
		if err != nil || !changed {
			return pipeline, err
		}
		err = h.Client.Status().Update(ctx, pipeline)
		if err == nil {
			h.announce(pipeline, target, approval)
			return pipeline, nil
		}
		if apierrors.IsNotFound(err) {
			return nil, refused(err.Error())
		}
		if !apierrors.IsConflict(err) {
			return nil, fmt.Errorf("record the approval: %w", err)
		}
	}
	return nil, fmt.Errorf("record the approval: overtaken by other writes %d times", recordAttempts)
}

// clockTolerance is how far the caller's clock may be behind ours when it approves a promotion that has just begun.
const clockTolerance = 30 * time.Second

// checkAge refuses a call that was signed before the promotion began: it was meant for another, of an earlier run
// perhaps, and is repeated by somebody who has seen it.
func (c credential) checkAge(promotion *pipelines.PromotionStatus) error {
	if c.signature == nil || promotion == nil || !c.signature.created.Add(clockTolerance).Before(promotion.StartTime.Time) {
		return nil
	}
	return unprocessable(refusedText, "the call was signed before the promotion began")
}

// authenticate returns the approval that a call makes if it is genuine.
func (h *handler) authenticate(r *http.Request, pipeline *pipelines.Pipeline, target address, proof credential) (pipelines.Approval, error) {
	approval := pipelines.Approval{Decision: pipelines.DecisionApproved, Time: metav1.NewTime(h.Now())}
	reference := secretOf(promotionInto(pipeline, target.environment))
	if reference == nil {
		if !h.Unsigned {
			return approval, refused("the promotion to the environment names no Secret")
		}
		approval.By, approval.Method = byUnsigned, pipelines.ApprovalLegacyWebhook
		return approval, nil
	}
	k, err := h.readKey(r.Context(), pipeline.Namespace, reference)
	if err != nil {
		return approval, err
	}
	if err := proof.check(k, r); err != nil {
		return approval, err
	}
	approval.By, approval.Method = k.secret, pipelines.ApprovalLegacyWebhook
	if proof.signature != nil {
		approval.Method, approval.Nonce = pipelines.ApprovalWebhook, proof.signature.nonce
	}
	return approval, nil
}

func (h *handler) announce(pipeline *pipelines.Pipeline, target address, approval pipelines.Approval) {
	h.Log.Info("Approval recorded", "pipeline", target.pipeline, "environment", target.environment,
		"revision", target.revision, "by", approval.By, "method", approval.Method, "resourceVersion", pipeline.ResourceVersion)
	h.Wake(target.pipeline)
}

// apply changes the status. It tells whether there is anything to write.
func apply(pipeline *pipelines.Pipeline, target address, approval pipelines.Approval) (changed bool, err error) {
	known := slices.ContainsFunc(pipeline.Spec.Environments, func(e pipelines.Environment) bool { return e.Name == target.environment })
	if !known {
		return false, unprocessable(unknownEnvironment(target), "")
	}
	changed, err = approveStatus(&pipeline.Status, target, approval)
	if err != nil {
		return false, unprocessable(refusedText, err.Error())
	}
	return changed, nil
}

func unknownEnvironment(target address) string {
	return fmt.Sprintf("app %s has no environment %s defined", target.pipeline, target.environment)
}
