// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"regexp"
	"runtime"
	"strings"
	"testing"

	"espalier.dev/internal/testkit/faults"
)

// ours matches the goroutines of the product, as opposed to those of the test and its libraries.
var ours = regexp.MustCompile(`espalier\.dev/internal/(controller|deployer|dial|loop|manager|target)`)

// A process that ends leaves nothing behind: no goroutine, no watch, here or at the target (I16). It runs alone, because goroutines do not
// show which test they belong to.
func TestNothingIsLeftAfterTheEnd(t *testing.T) {
	w := workloadNamed(t, "prune")
	s := newScene(t)
	p := s.operate(t, faults.Plan{})
	for _, act := range w.acts {
		act(t, s)
	}
	if before := goroutines(); len(before) == 0 {
		t.Error("not even a running process has goroutines: what is looked for must have another name")
	}
	_ = p.Stop()
	if left := goroutines(); len(left) > 0 {
		t.Errorf("%d goroutines are left:\n%s", len(left), strings.Join(left, "\n\n"))
	}
	if open := p.Transport.OpenWatches(); open > 0 {
		t.Errorf("%d watches are left open", open)
	}
}

func goroutines() []string {
	stacks := make([]byte, 1<<20)
	for {
		n := runtime.Stack(stacks, true)
		if n < len(stacks) {
			stacks = stacks[:n]
			break
		}
		stacks = make([]byte, 2*len(stacks))
	}
	var found []string
	for stack := range strings.SplitSeq(string(stacks), "\n\n") {
		if ours.MatchString(stack) {
			found = append(found, stack)
		}
	}
	return found
}
