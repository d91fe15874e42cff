// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package approval

import (
	"context"
	"errors"
	"io"
	"math"
	"net/http"
	"strconv"
	"time"
)

const (
	maxBody     = 64 << 10
	maxHookBody = 1 << 20
)

// handler handles the calls.
type handler struct {
	Options
	limiter *limiter
}

// NewHandler returns the handler of the server.
func NewHandler(opts Options) http.Handler {
	return &handler{Options: opts.withDefaults(), limiter: newLimiter(callsPerWindow, limitWindow)}
}

// endpoints by the first part of the path. A multiplexer cleans paths and redirects, but the signature covers the path as sent.
var endpoints = map[string]func(*handler, http.ResponseWriter, *http.Request, string){
	"approval":  (*handler).approve,
	"promotion": (*handler).lookNow,
	"webhook":   (*handler).deliver,
}

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Cache-Control", "no-store")
	name, rest := endpointOf(r.URL.EscapedPath())
	if name == "healthz" && rest == "" {
		serveHealth(w, r)
		return
	}
	counted := &countedWriter{ResponseWriter: w}
	defer counted.count(name)
	if wait, ok := h.limiter.admit(clientOf(r, h.TrustedProxies), h.Now()); !ok {
		counted.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(wait.Seconds()))))
		http.Error(counted, "too many requests", http.StatusTooManyRequests)
		return
	}
	endpoint := endpoints[name]
	switch {
	case endpoint == nil:
		http.NotFound(counted, r)
	case r.Method != http.MethodPost:
		counted.Header().Set("Allow", http.MethodPost)
		http.Error(counted, "method not allowed", http.StatusMethodNotAllowed)
	default:
		endpoint(h, counted, r, rest)
	}
}

func serveHealth(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = io.WriteString(w, "ok\n")
}

// errRefused leads to status 401. The reason is for the log only.
type errRefused struct{ reason string }

func (e *errRefused) Error() string { return e.reason }

func refused(reason string) error { return &errRefused{reason: reason} }

// answerRefusal responds only that the call is denied, and not before RefusalTime has passed.
func (h *handler) answerRefusal(w http.ResponseWriter, r *http.Request, began time.Time) {
	timer := time.NewTimer(h.RefusalTime - h.Now().Sub(began))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-r.Context().Done():
	}
	w.Header().Set("WWW-Authenticate", "Signature")
	http.Error(w, "signature missing or wrong", http.StatusUnauthorized)
}

// answerError converts an error of any endpoint into a response.
func (h *handler) answerError(w http.ResponseWriter, r *http.Request, began time.Time, err error) {
	var refusal *errRefused
	var unfit *errUnfit
	var oversized *http.MaxBytesError
	log := h.Log.WithValues("path", r.URL.EscapedPath())
	switch {
	case errors.As(err, &refusal):
		log.Info("Call rejected", "reason", refusal.reason)
		h.answerRefusal(w, r, began)
	case errors.As(err, &unfit):
		log.Info("Call cannot be carried out", "reason", unfit.Error())
		http.Error(w, unfit.answer, unfit.status)
	case errors.As(err, &oversized):
		http.Error(w, "body too large", http.StatusRequestEntityTooLarge)
	case errors.Is(err, context.Canceled):
		// The caller has probably gone. Without a response, the status is a success.
		http.Error(w, "interrupted", http.StatusServiceUnavailable)
	default:
		log.Error(err, "Call failed")
		http.Error(w, "internal error, please consult the server's logs", http.StatusInternalServerError)
	}
}

// errUnfit is the response to an authentic call that cannot be carried out.
type errUnfit struct {
	status int
	answer string
	reason string
}

func (e *errUnfit) Error() string {
	if e.reason == "" {
		return e.answer
	}
	return e.answer + ": " + e.reason
}

func unprocessable(answer, reason string) error {
	return &errUnfit{status: http.StatusUnprocessableEntity, answer: answer, reason: reason}
}

func badRequest(answer string) error { return &errUnfit{status: http.StatusBadRequest, answer: answer} }

func readBody(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, error) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	var oversized *http.MaxBytesError
	if err != nil && !errors.As(err, &oversized) {
		return nil, badRequest("cannot read the body")
	}
	return body, err
}
