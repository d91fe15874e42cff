// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package freshness

import (
	"fmt"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// A cache that never shows what is written must not fill the memory: beyond a limit, records go, though the cache shows none of them.
func TestRecordsAreLimited(t *testing.T) {
	k := &kind{known: map[client.ObjectKey]entry{}}
	note := func(number int) client.ObjectKey {
		key := client.ObjectKey{Namespace: "elsewhere", Name: fmt.Sprint(number)}
		k.note(key, entry{version: fmt.Sprint(number + 1)})
		return key
	}
	const limit = 1 << 14
	for number := range limit {
		note(number)
	}
	if known := len(k.known); known != limit {
		t.Errorf("%d of %d records are known; up to that number, all must be", known, limit)
	}
	most := 0
	for number := range 4 * limit {
		note(limit + number)
		most = max(most, len(k.known))
	}
	// Until the next sweep, they may double.
	if most > 2*limit+65 {
		t.Errorf("there are up to %d records", most)
	}
}
