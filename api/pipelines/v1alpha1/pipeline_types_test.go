// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"espalier.dev/api/pipelines/v1alpha1"
)

// Clients read an empty revision as "nothing waits" and do not expect the field to be missing.
func TestWaitingApprovalIsAlwaysWritten(t *testing.T) {
	got, err := json.Marshal(v1alpha1.EnvironmentStatus{})
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"waitingApproval":{"revision":""}}`; string(got) != want {
		t.Errorf("written as %s, want %s", got, want)
	}
}

// A status that nobody has filled must stay out of what clients send: the API server puts in observedGeneration -1.
func TestEmptyStatusIsNotWritten(t *testing.T) {
	got, err := json.Marshal(v1alpha1.Pipeline{})
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(got), "status") {
		t.Errorf("written as %s", got)
	}
}

func TestModeOrDefault(t *testing.T) {
	for mode, want := range map[v1alpha1.Mode]v1alpha1.Mode{
		"":                       v1alpha1.ModeSuperseding,
		v1alpha1.ModeSuperseding: v1alpha1.ModeSuperseding,
		v1alpha1.ModePairwise:    v1alpha1.ModePairwise,
	} {
		if got := mode.OrDefault(); got != want {
			t.Errorf("%q: got %q", mode, got)
		}
	}
}

func TestDurationParse(t *testing.T) {
	for text, want := range map[v1alpha1.Duration]time.Duration{"": 0, "90s": 90 * time.Second, "1h30m": 90 * time.Minute, "0s": 0} {
		if got, err := text.Parse(); err != nil || got != want {
			t.Errorf("%q: got %v, %v", text, got, err)
		}
	}
	for _, bad := range []v1alpha1.Duration{"soon", "-1m", "5", "none"} {
		if _, err := bad.Parse(); err == nil || !strings.Contains(err.Error(), `"`+string(bad)+`"`) {
			t.Errorf("%q: got %v", bad, err)
		}
	}
}
