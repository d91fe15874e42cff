// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package up

import (
	"testing"
	"time"
)

// The API server keeps old versions of objects for five minutes by default.
func TestTheHistoryIsShort(t *testing.T) {
	if kept := (options{}).plane(&progress{}).History; kept <= 0 || kept > time.Minute {
		t.Errorf("old versions are kept for %s", kept)
	}
}

func TestMemoryIsGivenBackAfterWork(t *testing.T) {
	const mega = 1 << 20
	var p pace
	for i, look := range []struct {
		total uint64 // in MB
		want  bool
	}{
		{10, false},   // rest, and nothing to return
		{500, false},  // work
		{1000, false}, // more of it
		{1010, true},  // the work has finished
		{1020, false}, // and stays finished
		{1080, false}, // a little work
		{1090, false}, // is not worth a collection
		{1150, false},
		{1210, false},
		{1270, true}, // unless it adds up
		{1280, false},
	} {
		if got := p.over(look.total * mega); got != look.want {
			t.Errorf("look %d, at %d MB: give back: %t", i, look.total, got)
		}
	}
	before := allocated()
	if kept := make([]byte, mega); allocated() < before+uint64(len(kept)) {
		t.Error("what was allocated is not counted")
	}
}
