// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package web

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net"
	"net/http"
	"net/url"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"espalier.dev/internal/masking"
	"espalier.dev/internal/pipeline"
	"espalier.dev/internal/steer"
	"espalier.dev/internal/web/rights"
	"espalier.dev/internal/web/session"
)

// maxBody is the maximum size of a request, in bytes.
const maxBody = 1 << 20

// problem is an error for the pages: what happened, and what to do.
type problem struct {
	Status  int    `json:"-"`
	Message string `json:"message"`
	// Command checks the missing right.
	Command string `json:"command,omitempty"`
	// ways are the ways to log in, for users who are not logged in.
	*ways
}

func (p *problem) Error() string { return p.Message }

func invalid(format string, args ...any) error {
	return &problem{Status: http.StatusUnprocessableEntity, Message: fmt.Sprintf(format, args...)}
}

// attempt describes a request to the API server, for the message if it fails.
type attempt struct {
	right     rights.Right
	namespace string
	what      string
}

// refusal converts an error into one for the pages.
func (a attempt) refusal(err error) error {
	var known *problem
	var failed *steer.Error
	var refused *pipeline.Refusal
	switch {
	case err == nil:
		return nil
	case errors.As(err, &known):
		return err
	case errors.As(err, new(*steer.NotTaken)), errors.As(err, new(*steer.Occupied)):
		return &problem{Status: http.StatusConflict, Message: upper(err.Error()) + ". Wait, or check whether the controllers run."}
	case errors.As(err, new(*steer.UnknownEnvironment)):
		return invalid("%s", upper(err.Error())+".")
	case errors.As(err, &refused):
		return &problem{Status: statusOf(refused), Message: upper(refused.Message)}
	case errors.As(err, &failed):
		a.what, err = failed.Attempted, failed.Err
		if failed.Policy {
			return a.byPolicy(err)
		}
		a.right.Verb = cmp.Or(failed.Lacks, a.right.Verb)
	}
	return a.ofServer(err)
}

// byPolicy handles denials by an admission policy, despite sufficient rights. The message quotes the policy.
func (a attempt) byPolicy(err error) error {
	return &problem{
		Status:  http.StatusForbidden,
		Message: fmt.Sprintf("You may not %s, although you have the rights: a policy of the cluster denies it: %s.", a.what, masking.Words(err)),
	}
}

func statusOf(refused *pipeline.Refusal) int {
	if refused.Reason == pipeline.RefusedUnknownEnvironment || refused.Reason == pipeline.RefusedMalformed {
		return http.StatusUnprocessableEntity
	}
	return http.StatusConflict
}

// ofServer handles errors of the API server, and its being unreachable.
func (a attempt) ofServer(err error) error {
	p := &problem{Status: http.StatusInternalServerError, Message: fmt.Sprintf("Cannot %s: %v.", a.what, err)}
	switch {
	case apierrors.IsForbidden(err):
		p.Status, p.Command = http.StatusForbidden, a.right.Command(a.namespace)
		p.Message = fmt.Sprintf("You may not %s: that needs the right to %s %s in namespace %s. Ask an administrator of this cluster to grant it.",
			a.what, a.right.Verb, a.right.Resource, a.namespace)
	case apierrors.IsUnauthorized(err):
		p.Status, p.Message = http.StatusUnauthorized, "The cluster no longer accepts your login. Log in again."
	case apierrors.IsNotFound(err):
		p.Status, p.Message = http.StatusNotFound, fmt.Sprintf("Cannot %s: it does not exist. It may have been deleted in the meantime.", a.what)
	case apierrors.IsConflict(err):
		p.Status = http.StatusConflict
		p.Message = fmt.Sprintf("Cannot %s: another client changed it at the same time. Check it, then retry.", a.what)
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err):
		p.Status = http.StatusUnprocessableEntity
	case isAway(err):
		p.Status = http.StatusServiceUnavailable
		p.Message = fmt.Sprintf("Cannot %s: the API server does not answer. Retry later.", a.what)
	}
	return p
}

func isAway(err error) bool {
	var network net.Error
	var address *url.Error
	return errors.As(err, &network) || errors.As(err, &address) || errors.Is(err, context.DeadlineExceeded)
}

func upper(text string) string {
	if text == "" {
		return text
	}
	return string(text[0]&^0x20) + text[1:]
}

func writeProblem(w http.ResponseWriter, p *problem) { writeJSON(w, p.Status, p) }

func writeJSON(w http.ResponseWriter, status int, value any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(value) // The client has disconnected.
}

// caller is a user with a session who makes a request.
type caller struct {
	session *session.Session
	reader  *reader
}

// answering handles a request with a session. The result is written as JSON; nil means no content.
type answering func(r *http.Request, by caller) (any, error)

func (s *Server) private(do answering) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		by, err := s.callerOf(r)
		if err == nil {
			var result any
			if result, err = do(r, by); err == nil && result != nil {
				writeJSON(w, http.StatusOK, result)
				return
			}
		}
		if err == nil {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		s.fail(w, r, err)
	}
}

func (s *Server) fail(w http.ResponseWriter, r *http.Request, err error) {
	var known *problem
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &known):
		writeProblem(w, known)
	case errors.Is(err, session.ErrNone):
		ways := s.ways()
		writeProblem(w, &problem{Status: http.StatusUnauthorized, Message: s.howToLogIn(), ways: &ways})
	case errors.As(err, &tooLarge):
		writeProblem(w, &problem{Status: http.StatusRequestEntityTooLarge, Message: fmt.Sprintf("That is more than %d bytes.", tooLarge.Limit)})
	default:
		s.options.Log.Error(err, "A request to the web UI failed", "path", r.URL.Path)
		writeProblem(w, &problem{Status: http.StatusInternalServerError, Message: "This failed; see the log of the web UI. Then retry."})
	}
}

func (s *Server) howToLogIn() string {
	if s.options.Mode == Local {
		return "You are not logged in, or your session has ended. Open the address that the command printed; it works once. " +
			"For a new one, start the command again."
	}
	return "You are not logged in, or your session has ended. Log in with a token of this cluster." + s.aboutProvider()
}

// body reads the JSON of a request. Only scripts of our own pages can send it: forms of other sites cannot.
func body[T any](r *http.Request) (T, error) {
	var value T
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return value, &problem{Status: http.StatusUnsupportedMediaType, Message: "The request must be JSON, with Content-Type application/json."}
	}
	decoder := json.NewDecoder(r.Body)
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&value); err != nil {
		if errors.As(err, new(*http.MaxBytesError)) {
			return value, err
		}
		return value, &problem{Status: http.StatusBadRequest, Message: "The request does not have the expected JSON. See docs/ui.md."}
	}
	return value, nil
}
