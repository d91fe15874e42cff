// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// goroutines returns the stacks of all goroutines by the number in their first line.
func goroutines() map[string]string {
	stacks := make([]byte, 8<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	found := map[string]string{}
	for stack := range strings.SplitSeq(string(stacks), "\n\n") {
		found[strings.Join(strings.Fields(stack)[:2], " ")] = stack
	}
	return found
}

// ours reports whether a goroutine belongs to a fleet: it runs its code, reads a stream, or keeps a connection to a cluster. The
// connections to the management cluster are shared with the test itself.
func ours(stack string) bool {
	if strings.Contains(stack, "testing.tRunner") || strings.Contains(stack, "_test.go") {
		return false
	}
	for _, sign := range []string{"internal/fleet", "internal/target", "k8s.io/apimachinery/pkg/watch", "k8s.io/client-go"} {
		if strings.Contains(stack, sign) {
			return true
		}
	}
	return false
}

// awaitNoLeak waits until all goroutines that a fleet has started since before was taken have ended.
func awaitNoLeak(t testing.TB, before map[string]string) {
	t.Helper()
	var left []string
	eventually(t, func() bool {
		left = nil
		for id, stack := range goroutines() {
			if before[id] == "" && ours(stack) {
				left = append(left, stack)
			}
		}
		return len(left) == 0
	}, func() string {
		return fmt.Sprintf("%d goroutines are left:\n%s", len(left), strings.Join(left, "\n\n"))
	})
}
