// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package taskgroup_test

import (
	"sync"
	"sync/atomic"
	"testing"

	"espalier.dev/internal/taskgroup"
)

// A goroutine started during End either finishes before End returns, or Go reports that it was not started.
func TestNothingRunsAfterTheEnd(t *testing.T) {
	for range 200 {
		l := taskgroup.New()
		var running, started atomic.Int64
		var starters sync.WaitGroup
		for range 4 {
			starters.Go(func() {
				for l.Go(func() {
					running.Add(1)
					defer running.Add(-1)
					<-l.Context().Done()
				}) {
					started.Add(1)
					if started.Load() > 100 {
						return
					}
				}
			})
		}
		l.End()
		if left := running.Load(); left != 0 {
			t.Fatalf("%d goroutines go on after the end", left)
		}
		starters.Wait()
		if l.Go(func() { t.Error("started after the end") }) {
			t.Fatal("Go says that it has started something after the end")
		}
	}
}
