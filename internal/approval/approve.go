// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package approval

import (
	"fmt"
	"net/http"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	pipelines "espalier.dev/api/pipelines/v1alpha1"
	"espalier.dev/internal/pipeline"
)

// refusedText is the text that clients of the API's former controller expect if nothing waits for this approval.
const refusedText = "failed approving promotion"

// recordAttempts is the maximum number of attempts at a write that keeps conflicting.
const recordAttempts = 10

// byUnsigned stands for unauthenticated callers.
const byUnsigned = "unsigned"

// approve handles POST /approval/<namespace>/<pipeline>/<environment>/<revision>.
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
	approved, err := h.record(r, target, proof)
	if err != nil {
		return "", err
	}
	return h.awaitLocation(r.Context(), approved, target), nil
}

// approvalCredential reads the body only for the older scheme, which signs it.
func (h *handler) approvalCredential(w http.ResponseWriter, r *http.Request) (credential, error) {
	proof, err := credentialOf(r, nil, h.Now())
	if err != nil {
		return credential{}, err
	}
	if proof.signature == nil && proof.older == nil {
		proof.token = tokenOf(r)
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

//espalier:rights pipelines
//	get pipelines: a call over HTTP is checked against the pipeline that it names
//	update pipelines/status: approvals over HTTP are recorded

// record writes the approval into the status. Each attempt starts with the current pipeline and key from the API server, since a conflict
// may come from a change of either.
func (h *handler) record(r *http.Request, target address, proof credential) (*pipelines.Pipeline, error) {
	for range recordAttempts {
		current, err := h.readPipeline(r.Context(), target.pipeline)
		if err != nil {
			return nil, err
		}
		ask, err := h.authenticate(r, current, target, proof)
		if err != nil {
			return nil, err
		}
		changed, err := apply(current, ask, proof)
		if err != nil || !changed {
			return current, err
		}
		err = h.Client.Status().Update(r.Context(), current)
		switch {
		case err == nil:
			h.announce(target, ask)
			return current, nil
		case apierrors.IsNotFound(err):
			return nil, refused(err.Error())
		case !apierrors.IsConflict(err):
			return nil, fmt.Errorf("record the approval: %w", err)
		}
	}
	return nil, fmt.Errorf("record the approval: overtaken by other writes %d times", recordAttempts)
}

// authenticate returns the request of an authentic call.
func (h *handler) authenticate(r *http.Request, current *pipelines.Pipeline, target address, proof credential) (pipeline.Ask, error) {
	ask := pipeline.Ask{Environment: target.environment, Revision: target.revision, Method: pipelines.ApprovalLegacyWebhook, Time: h.Now()}
	if proof.token != "" {
		user, err := h.userOf(r.Context(), current, proof.token)
		ask.By, ask.Method = user, pipelines.ApprovalToken
		return ask, err
	}
	reference := secretOf(promotionInto(current, target.environment))
	if reference == nil {
		if !h.Unsigned {
			return ask, refused("the promotion to the environment has no Secret")
		}
		ask.By = byUnsigned
		return ask, nil
	}
	k, err := h.readKey(r.Context(), current.Namespace, reference, keyEntry)
	if err != nil {
		return ask, err
	}
	if err := proof.check(k, r); err != nil {
		return ask, err
	}
	ask.By = k.secret
	if proof.signature != nil {
		ask.Method, ask.Nonce = pipelines.ApprovalWebhook, proof.signature.nonce
	}
	return ask, nil
}

// apply approves in memory. It reports whether there is anything to write.
func apply(current *pipelines.Pipeline, ask pipeline.Ask, proof credential) (changed bool, err error) {
	if indexOf(current, ask.Environment) < 0 {
		return false, unprocessable(unknownEnvironment(current, ask.Environment), "")
	}
	if !current.DeletionTimestamp.IsZero() {
		return false, unprocessable(refusedText, "the pipeline is being deleted")
	}
	if err := checkReplay(current.Status.Environments[ask.Environment], proof.signature); err != nil {
		return false, err
	}
	answer, err := pipeline.Approve(current, ask)
	if err != nil {
		return false, unprocessable(refusedText, err.Error())
	}
	return !answer.Already, nil
}

// clockTolerance is how far the caller's clock may be behind when it approves a promotion that has just started.
const clockTolerance = 30 * time.Second

// checkReplay rejects a replayed call for another promotion of the same revision, for example of an earlier run: the call has already
// approved that promotion, or was signed before this one started.
func checkReplay(environment pipelines.EnvironmentStatus, signed *signature) error {
	if signed == nil {
		return nil
	}
	used := func(p pipelines.PromotionStatus) bool {
		return p.Approval != nil && p.Approval.Nonce == signed.nonce ||
			slices.ContainsFunc(p.Approvals, func(a pipelines.Approval) bool { return a.Nonce == signed.nonce })
	}
	if slices.ContainsFunc(environment.History, used) {
		return unprocessable(refusedText, "the call has approved an earlier promotion")
	}
	if p := environment.Promotion; p != nil && signed.created.Add(clockTolerance).Before(p.StartTime.Time) {
		return unprocessable(refusedText, "the call was signed before the promotion began")
	}
	return nil
}

// announce emits an Event that names the approver. It does not reveal where the call came from.
func (h *handler) announce(target address, ask pipeline.Ask) {
	h.Log.Info("Approval recorded", "pipeline", target.pipeline, "environment", ask.Environment,
		"revision", ask.Revision, "by", ask.By, "method", ask.Method)
	h.Wake(target.pipeline)
}

func unknownEnvironment(p *pipelines.Pipeline, environment string) string {
	return fmt.Sprintf("app %s/%s has no environment %s defined", p.Namespace, p.Name, environment)
}
