// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package approval

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"

	corev1 "k8s.io/api/core/v1"

	pipelines "espalier.dev/api/pipelines/v1alpha1"
)

// notification holds the fields of Flux events that are used.
type notification struct {
	InvolvedObject corev1.ObjectReference `json:"involvedObject"`
	Metadata       map[string]string      `json:"metadata"`
}

// lookNow handles POST /promotion/<namespace>/<pipeline>/<environment>. It makes the same checks as the former controller, so that existing
// set-ups get the same errors, and then triggers a pass over the pipeline. The content of the event has no other effect: promotions follow
// from the state of the targets.
func (h *handler) lookNow(w http.ResponseWriter, r *http.Request, rest string) {
	began := h.Now()
	target, ok := parsePromotion(rest)
	if !ok {
		http.NotFound(w, r)
		return
	}
	if err := h.checkNotification(w, r, target); err != nil {
		h.answerError(w, r, began, err)
		return
	}
	h.Wake(target.pipeline)
	w.WriteHeader(http.StatusNoContent)
}

func (h *handler) checkNotification(w http.ResponseWriter, r *http.Request, target address) error {
	body, err := readBody(w, r, maxBody)
	if err != nil {
		return err
	}
	// Flux can sign only the body. That is sufficient here, because a replayed call is harmless.
	proof, err := credentialOf(r, body, h.Now())
	if err != nil {
		return err
	}
	pipeline, err := h.readPipeline(r.Context(), target.pipeline)
	if err != nil {
		return err
	}
	if reference := notificationSecret(pipeline, target.environment); reference != nil {
		k, err := h.readKey(r.Context(), pipeline.Namespace, reference, keyEntry)
		if err != nil {
			return err
		}
		if err := proof.check(k, r); err != nil {
			return err
		}
	}
	return fits(pipeline, target, body)
}

// notificationSecret returns the Secret of the pipeline, for compatibility, or that of the next promotion. Without either, the
// call needs no signature, since it is harmless.
func notificationSecret(pipeline *pipelines.Pipeline, source string) *pipelines.LocalObjectReference {
	if reference := secretOf(pipeline.Spec.Promotion); reference != nil {
		return reference
	}
	if i := indexOf(pipeline, source); i >= 0 && i+1 < len(pipeline.Spec.Environments) {
		return secretOf(promotionInto(pipeline, pipeline.Spec.Environments[i+1].Name))
	}
	return nil
}

func indexOf(pipeline *pipelines.Pipeline, environment string) int {
	return slices.IndexFunc(pipeline.Spec.Environments, func(e pipelines.Environment) bool { return e.Name == environment })
}

// fits returns an error if an event does not fit this environment of this pipeline. The texts are part of the protocol.
func fits(pipeline *pipelines.Pipeline, target address, body []byte) error {
	var event notification
	if err := json.Unmarshal(body, &event); err != nil {
		return badRequest("cannot read the body as JSON")
	}
	if event.Metadata["revision"] == "" {
		return unprocessable("event has no 'revision' in the metadata field.", "")
	}
	environments := pipeline.Spec.Environments
	source := indexOf(pipeline, target.environment)
	switch {
	case source < 0:
		return unprocessable(unknownEnvironment(pipeline, target.environment), "")
	case source == len(environments)-1:
		return unprocessable("cannot promote beyond last environment "+target.environment, "")
	case len(environments[source+1].Targets) == 0:
		return unprocessable(fmt.Sprintf("environment %s has no targets", environments[source+1].Name), "")
	case !involved(pipeline, environments[source], event.InvolvedObject):
		return unprocessable("involved object does not match Pipeline definition", "")
	}
	return nil
}

func involved(pipeline *pipelines.Pipeline, source pipelines.Environment, object corev1.ObjectReference) bool {
	app := pipeline.Spec.AppRef
	return object.APIVersion == app.APIVersion && object.Kind == app.Kind && object.Name == app.Name &&
		slices.ContainsFunc(source.Targets, func(t pipelines.Target) bool { return t.Namespace == object.Namespace })
}
