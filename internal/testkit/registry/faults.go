// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
)

// Status answers with a status, and with header fields given as pairs.
func Status(status int, header ...string) Fault {
	return func(w http.ResponseWriter, _ *http.Request, _ http.Handler) bool {
		for i := 0; i+1 < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(status)
		return true
	}
}

// Times limits how often a fault happens.
func Times(count int, fault Fault) Fault {
	var happened atomic.Int64
	return func(w http.ResponseWriter, r *http.Request, registry http.Handler) bool {
		return happened.Add(1) <= int64(count) && fault(w, r, registry)
	}
}

// On restricts a fault to requests whose method and path contain a text.
func On(text string, fault Fault) Fault {
	return func(w http.ResponseWriter, r *http.Request, registry http.Handler) bool {
		return strings.Contains(r.Method+" "+r.URL.Path, text) && fault(w, r, registry)
	}
}

// Half sends half of the answer and breaks the connection.
func Half(w http.ResponseWriter, r *http.Request, registry http.Handler) bool {
	answer := httptest.NewRecorder()
	registry.ServeHTTP(answer, r)
	copyHeader(w, answer)
	_, _ = w.Write(answer.Body.Bytes()[:answer.Body.Len()/2])
	_ = http.NewResponseController(w).Flush()
	panic(http.ErrAbortHandler)
}

// Wrong sends an answer whose last byte is changed.
func Wrong(w http.ResponseWriter, r *http.Request, registry http.Handler) bool {
	answer := httptest.NewRecorder()
	registry.ServeHTTP(answer, r)
	body := answer.Body.Bytes()
	if len(body) > 0 {
		body[len(body)-1] ^= 1
	}
	copyHeader(w, answer)
	_, _ = w.Write(body)
	return true
}

// Hold keeps requests waiting until the gate is closed, or until they are cancelled.
func Hold(gate <-chan struct{}) Fault {
	return func(_ http.ResponseWriter, r *http.Request, _ http.Handler) bool {
		select {
		case <-gate:
			return false
		case <-r.Context().Done():
			return true
		}
	}
}

func copyHeader(w http.ResponseWriter, answer *httptest.ResponseRecorder) {
	for name, values := range answer.Header() {
		w.Header()[name] = values
	}
	w.WriteHeader(answer.Code)
}
