// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package approval

import (
	"net/http"
)

// deliver is POST /webhook/<provider>/<namespace>/<pipeline>/<environment>. A Git server calls it when something has
// happened to a pull request; then the controller looks sooner than it would have. Nothing else depends on it.
func (h *handler) deliver(w http.ResponseWriter, r *http.Request, rest string) {
	began := h.Now()
	provider, target, ok := parseHook(rest)
	hook := h.Hooks[provider]
	if !ok || hook == nil {
		http.NotFound(w, r)
		return
	}
	relevant, err := h.readDelivery(w, r, delivery{target: target, hook: hook})
	if err != nil {
		h.answerError(w, r, began, err)
		return
	}
	if relevant {
		h.Delivered(target.pipeline, target.environment)
	}
	w.WriteHeader(http.StatusNoContent)
}

type delivery struct {
	target address
	hook   Hook
}

// readDelivery verifies a delivery with the key of the environment's promotion before it is looked into.
func (h *handler) readDelivery(w http.ResponseWriter, r *http.Request, d delivery) (relevant bool, err error) {
	body, err := readBody(w, r, maxHookBody)
	if err != nil {
		return false, err
	}
	pipeline, err := h.readPipeline(r.Context(), d.target.pipeline)
	if err != nil {
		return false, err
	}
	reference := secretOf(promotionInto(pipeline, d.target.environment))
	if reference == nil {
		return false, refused("the promotion to the environment names no Secret")
	}
	k, err := h.readKey(r.Context(), pipeline.Namespace, reference)
	if err != nil {
		return false, err
	}
	if !d.hook.Verify(r.Header, body, k.bytes) {
		return false, refused("the delivery was not signed with the key of the Secret " + k.secret)
	}
	relevant, err = d.hook.Relevant(r.Header, body)
	if err != nil {
		return false, badRequest("cannot read the delivery")
	}
	return relevant, nil
}
