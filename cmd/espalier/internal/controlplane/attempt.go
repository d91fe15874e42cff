// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// attempt runs code of others that may panic, give up or hang, and returns any of that as an error. It hangs, for example, when another
// goroutine that it waits for has met a fatal error; died tells about that. Whoever is cut short has a moment to come to an end, so that
// what it holds is free.
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

// reasonOf says more about code that gave up, if more is known.
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
