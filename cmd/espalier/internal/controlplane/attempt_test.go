// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"errors"
	"runtime"
	"testing"
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
