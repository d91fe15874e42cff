// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package helm_test

import (
	"slices"
	"strings"
	"testing"

	"espalier.dev/internal/failure"
)

// failed describes the expected error.
type failed struct {
	reason   string
	codes    []string
	terminal bool
	contains []string
	// without are words that must not appear.
	without []string
}

func assertFailure(t *testing.T, err error, want failed) {
	t.Helper()
	if err == nil {
		t.Fatal("there is no error")
	}
	details := failure.DetailsOf(err)
	if details.Reason != want.reason {
		t.Errorf("the reason is %q, want %q", details.Reason, want.reason)
	}
	for _, code := range want.codes {
		if !slices.Contains(details.Codes, code) {
			t.Errorf("the codes are %v, want %s", details.Codes, code)
		}
	}
	if got := failure.KindOf(err) == failure.Terminal; got != want.terminal {
		t.Errorf("terminal: %v", got)
	}
	for _, part := range want.contains {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("the error does not contain %q", part)
		}
	}
	for _, part := range want.without {
		if strings.Contains(err.Error(), part) {
			t.Errorf("the error contains %q", part)
		}
	}
	if t.Failed() {
		t.Logf("the error: %v", err)
	}
}
