// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"testing/synctest"
	"time"
)

func attempting(t *testing.T, do func() error) error {
	t.Helper()
	_, err := attempt(t.Context(), nil, func() (struct{}, error) { return struct{}{}, do() })
	return err
}

func TestAttempt(t *testing.T) {
	boom := errors.New("boom")
	tests := map[string]struct {
		do   func() error
		want string
	}{
		"nothing":  {func() error { return nil }, ""},
		"an error": {func() error { return boom }, "boom"},
		"a panic":  {func() error { panic("help") }, "help"},
		"an exit":  {func() error { runtime.Goexit(); return nil }, errGaveUp.Error()},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var got string
			if err := attempting(t, test.do); err != nil {
				got = err.Error()
			}
			if got != test.want {
				t.Errorf("got %q", got)
			}
		})
	}
}

func TestAnAttemptThatHangsIsLeftAlone(t *testing.T) {
	never := make(chan struct{})
	defer close(never)
	hang := func() (int, error) { <-never; return 1, nil }
	died := make(chan error, 1)
	died <- errors.New("the disk is full")
	if _, err := attempt(t.Context(), died, hang); err == nil || err.Error() != "the disk is full" {
		t.Errorf("after a part has died: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := attempt(ctx, nil, hang); !errors.Is(err, context.Canceled) {
		t.Errorf("after the context has ended: %v", err)
	}
}

// The first signal to stop is obeyed within seconds, even if the part that starts hangs, and the clean-up, too. The clock is that of the test.
func TestAnInterruptedStartEndsInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		never := make(chan struct{})
		cp := &ControlPlane{stopping: make(chan struct{}), stopped: make(chan struct{})}
		cp.onStop(func() error { <-never; return nil })
		ctx, interrupt := context.WithCancel(t.Context())
		interrupt()
		start := time.Now()
		if _, err := attempt(ctx, nil, func() (int, error) { <-never; return 1, nil }); !errors.Is(err, context.Canceled) {
			t.Errorf("the part that hangs ends with %v", err)
		}
		if err := cp.abandon(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the clean-up that hangs ends with %v", err)
		}
		if took := time.Since(start); took > 15*time.Second {
			t.Errorf("it took %s", took)
		}
		close(never)
	})
}

func TestAnAttemptThatIsCutShortHandsOverWhatItHas(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	result, err := attempt(ctx, nil, func() (int, error) {
		cancel()
		<-ctx.Done()
		return 1, nil
	})
	if result != 1 || err != nil && !errors.Is(err, context.Canceled) {
		t.Errorf("got %d, %v: somebody has to close it", result, err)
	}
}

func TestAnAttemptThatGivesUpSaysWhy(t *testing.T) {
	died := make(chan error, 1)
	_, err := attempt(t.Context(), died, func() (int, error) {
		died <- errors.New("the disk is full")
		runtime.Goexit()
		return 0, nil
	})
	if err == nil || err.Error() != "the disk is full" {
		t.Errorf("error: %v", err)
	}
}
