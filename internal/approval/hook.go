// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package approval

import (
	"errors"
	"net/http"

	pipelines "espalier.dev/api/pipelines/v1alpha1"
	"espalier.dev/internal/gitprovider"
	"espalier.dev/internal/gitprovider/providers"
)

// deliver handles POST /webhook/<provider>/<namespace>/<pipeline>/<environment>. A Git server calls it after a change of a
// pull request; the controller then polls sooner. Nothing else depends on it.
func (h *handler) deliver(w http.ResponseWriter, r *http.Request, rest string) {
	began := h.Now()
	name, target, ok := parseHook(rest)
	if !ok {
		http.NotFound(w, r)
		return
	}
	event, err := h.readDelivery(w, r, delivery{provider: pipelines.GitProviderType(name), target: target})
	switch {
	case errors.Is(err, gitprovider.ErrIgnored):
	case err != nil:
		h.answerError(w, r, began, err)
		return
	default:
		h.Delivered(target.pipeline, event)
	}
	w.WriteHeader(http.StatusNoContent)
}

type delivery struct {
	provider pipelines.GitProviderType
	target   address
}

// readDelivery verifies a delivery with the webhook key of the environment's promotion before it parses it. An unknown provider is denied
// like any other call without proof.
func (h *handler) readDelivery(w http.ResponseWriter, r *http.Request, d delivery) (gitprovider.Event, error) {
	body, err := readBody(w, r, maxHookBody)
	if err != nil {
		return gitprovider.Event{}, err
	}
	pipeline, err := h.readPipeline(r.Context(), d.target.pipeline)
	if err != nil {
		return gitprovider.Event{}, err
	}
	reference := secretOf(promotionInto(pipeline, d.target.environment))
	if reference == nil {
		return gitprovider.Event{}, refused("the promotion to the environment has no Secret")
	}
	k, err := h.readKey(r.Context(), pipeline.Namespace, reference, hookEntry)
	if err != nil {
		return gitprovider.Event{}, err
	}
	event, err := providers.ParseWebhook(d.provider, r.Header, body, k.bytes)
	switch {
	case err == nil || errors.Is(err, gitprovider.ErrIgnored):
		return event, err
	case errors.Is(err, gitprovider.ErrUnreadable):
		return event, badRequest("cannot read the delivery")
	}
	return event, refused(err.Error())
}
