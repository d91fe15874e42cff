// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package testkit_test

import (
	"context"
	"errors"
	"testing"

	"espalier.dev/internal/testkit"
)

func TestAProcessRunsUntilItIsStopped(t *testing.T) {
	ended := errors.New("ended")
	running := make(chan struct{})
	p := testkit.Start(t.Context(), func(ctx context.Context) error {
		close(running)
		<-ctx.Done()
		return ended
	})
	<-running
	select {
	case <-p.Ended():
		t.Error("it has ended before it was stopped")
	default:
	}
	for range 2 {
		if err := p.Stop(); !errors.Is(err, ended) {
			t.Errorf("it ended with %v", err)
		}
	}
	<-p.Ended()
}

// stubborn records that a test has failed without making it fail.
type stubborn struct {
	testing.TB
	failed bool
}

func (s *stubborn) Errorf(string, ...any) { s.failed = true }

func TestAnErrorOfWhatRunsFailsTheTest(t *testing.T) {
	for _, err := range []error{nil, errors.New("broken")} {
		s := &stubborn{TB: t}
		stop := testkit.Run(s, func(ctx context.Context) error { <-ctx.Done(); return err })
		stop()
		stop()
		if s.failed != (err != nil) {
			t.Errorf("after %v, failed is %t", err, s.failed)
		}
	}
}
