// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"
)

// untilInterrupted returns a context that ends with the first Ctrl-C or SIGTERM. When it has ended, the next one ends the process at once.
func untilInterrupted(parent context.Context) (context.Context, context.CancelFunc) {
	signalled, stop := signal.NotifyContext(parent, os.Interrupt, syscall.SIGTERM)
	ctx, cancel := context.WithCancel(parent)
	context.AfterFunc(signalled, func() {
		stop()
		cancel()
	})
	return ctx, func() {
		stop()
		cancel()
	}
}

// Interruptible does work that must tidy up after itself: Ctrl-C and SIGTERM end its context, and if it then fails, the command ends with
// ExitDetached. Elsewhere, they end the process at once. What ignores its context, such as Confirm, must stay elsewhere.
func (e Environment) Interruptible(parent context.Context, work func(context.Context) error) error {
	ctx, stop := e.UntilInterrupted(parent)
	defer stop()
	err := work(ctx)
	if err == nil || ctx.Err() == nil {
		return err
	}
	return interrupted(err)
}

// interrupted gives the error of interrupted work its exit code.
func interrupted(err error) error {
	var coded *CodedError
	var problem *Problem
	switch {
	case errors.As(err, &coded) && coded.Code == ExitDetached, errors.As(err, &problem) && problem.Code == ExitDetached:
		return err
	case problem == nil && errors.Is(err, context.Canceled):
		err = errors.New("interrupted")
	}
	return &CodedError{Code: ExitDetached, Err: err}
}
