// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package follow

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Requests run at the same time: while one tells that it has failed, another cannot tell that the server answers again.
func TestReachabilityIsToldInOrder(t *testing.T) {
	var told []string
	r := &reachability{}
	r.tell = func(e Event) {
		if r.mutex.TryLock() {
			t.Errorf("another request can tell something before %+v", e)
			r.mutex.Unlock()
		}
		if e.Restored {
			told = append(told, "restored")
		} else {
			told = append(told, e.Failed.Error())
		}
	}
	r.restore()
	r.lose(errors.New("first"))
	r.lose(errors.New("second"))
	r.restore()
	r.restore()
	if diff := cmp.Diff([]string{"first", "second", "restored"}, told); diff != "" {
		t.Error(diff)
	}
}
