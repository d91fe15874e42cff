// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"
	"unicode"

	"espalier.dev/internal/cli"
	"espalier.dev/internal/oci"
)

// slow is when people begin to wonder.
const slow = 2 * time.Second

// sayIfSlow says what takes long, once, if it does and somebody is looking. Nothing is said after the function that it returns was called.
func (a *Access) sayIfSlow(what string) (done func()) {
	if _, _, terminal := a.env.Size(a.env.ErrOut); !terminal {
		return func() {}
	}
	var mutex sync.Mutex
	ended := false
	timer := time.AfterFunc(slow, func() {
		mutex.Lock()
		defer mutex.Unlock()
		if !ended {
			_, _ = fmt.Fprintln(a.env.ErrOut, plain(what), "...")
		}
	})
	return func() {
		timer.Stop()
		mutex.Lock()
		defer mutex.Unlock()
		ended = true
	}
}

// explain adds to an error what a user of the command line can do about it.
func explain(err error, helpers bool) error {
	var known *oci.Error
	switch {
	case err == nil:
		return nil
	case !errors.As(err, &known) || known.Class != oci.Unauthenticated && known.Class != oci.Forbidden:
		return &plainError{err}
	}
	host, _, _ := strings.Cut(known.Where, "/")
	problem := &cli.Problem{
		Code:  cli.ExitError,
		What:  plain(err.Error()),
		Next:  []string{"docker login " + plain(host), "or name a file with other credentials with --registry-config"},
		Cause: err,
	}
	if helpers {
		problem.Next = append(problem.Next,
			"the docker configuration leaves credentials to helpers (credsStore, credHelpers), which are not used")
	}
	return problem
}

// plainError is an error that may quote what others have written, without what could steer a terminal.
type plainError struct{ error }

func (e *plainError) Error() string { return plain(e.error.Error()) }
func (e *plainError) Unwrap() error { return e.error }

// plain takes out of a text what could steer a terminal.
func plain(text string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r)) {
			return -1
		}
		return r
	}, text)
}
