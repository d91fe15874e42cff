// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package promotions_test

import (
	"testing"
)

// TestReplay runs what the flags say: by default the first workload, undisturbed.
func TestReplay(t *testing.T) {
	d, err := parseDisturbance(*planFlag)
	if err != nil {
		t.Fatalf("-plan: %v", err)
	}
	d.gitea = *giteaFlag
	w := workloadNamed(t, *workloadFlag)
	want := reference(t, w)
	judge(t, want, d, perform(t, w, d))
}
