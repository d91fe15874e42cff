// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// attempt runs third-party code that may panic, give up or hang, and returns any of these as an error. Code hangs, for example, when
// another goroutine that it waits for has had a fatal error; died reports that. Code that is interrupted has a moment to finish, so that it
// releases its resources.
func attempt[T any](ctx context.Context, died <-chan error, do func() (T, error)) (T, error) {
	type outcome struct {
		result T
		err    error
	}
	done := make(chan outcome, 1)
	go func() {
		o := outcome{err: errGaveUp} // unless it returns
		defer func() {
			if r := recover(); r != nil {
				o.err = fmt.Errorf("%v", r)
			}
			done <- o
		}()
		o.result, o.err = do()
	}()
	var cut error
	select {
	case o := <-done:
		return o.result, reasonOf(o.err, died)
	case cut = <-died:
	case <-ctx.Done():
		cut = context.Cause(ctx)
	}
	var late outcome
	select {
	case late = <-done:
	case <-time.After(burialTime):
	}
	return late.result, cut
}

// reasonOf returns the more specific reason why code gave up, if one is known.
func reasonOf(err error, died <-chan error) error {
	if !errors.Is(err, errGaveUp) {
		return err
	}
	select {
	case why := <-died:
		return why
	default:
		return err
	}
}
