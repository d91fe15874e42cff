// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package pipeline

import "testing"

// BenchmarkDecideUnchanged measures an event that changes nothing: a pipeline with three environments waits for a merge.
func BenchmarkDecideUnchanged(b *testing.B) {
	s := newScene(b, pullRequests(), []Target{at("2")}, []Target{at("1"), at("1")}, []Target{at("1")})
	s.decide()
	s.finish(opened(7)).decide()
	b.ReportAllocs()
	for b.Loop() {
		if d := Decide(s.Observed); !d.Wait {
			b.Fatalf("something is done: %+v", d)
		}
	}
}
