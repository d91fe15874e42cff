// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package child_test

import (
	"testing"

	"espalier.dev/internal/controller/child"
)

func TestPropagatedJobsAreKnownUntilTheCacheShowsThem(t *testing.T) {
	var h child.PropagatedJobs
	if h.Has("a", "2", "1") {
		t.Error("nothing was handed down")
	}
	h.Note("a", "2")
	for range 2 {
		if !h.Has("a", "2", "1") {
			t.Error("the job is forgotten before the cache shows it")
		}
	}
	if h.Has("b", "2", "1") {
		t.Error("another object has the job")
	}
	if h.Has("a", "2", "2") || h.Has("a", "2", "1") {
		t.Error("the job is remembered after the cache has shown it")
	}
	h.Note("a", "2")
	if h.Has("a", "3", "2") || h.Has("a", "2", "1") {
		t.Error("a job is remembered although the next one has begun")
	}
}
