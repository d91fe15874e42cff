// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package pullrequest

import (
	"context"
	"slices"
	"testing"

	"espalier.dev/internal/gitprovider"
)

func TestWhoComesFirstIsServedFirst(t *testing.T) {
	var q queue
	one, other := gitprovider.NewRepository("h", "one"), gitprovider.NewRepository("h", "other")
	leave, err := q.enter(t.Context(), one)
	if err != nil {
		t.Fatal(err)
	}
	if leaveOther, err := q.enter(t.Context(), other); err != nil {
		t.Error("another repository had to wait")
	} else {
		leaveOther()
	}
	var waiting []chan struct{}
	for range 5 {
		waiting = append(waiting, q.join(one))
	}
	if !q.giveUp(one, waiting[2]) || q.giveUp(one, waiting[2]) {
		t.Error("giving up works once")
	}
	for _, i := range []int{0, 1, 3, 4} {
		leave()
		<-waiting[i]
		for _, later := range waiting[i+1:] {
			select {
			case <-later:
				t.Errorf("two are in after %d", i)
			default:
			}
		}
		leave = func() { q.next(one) }
	}
	leave()
	if len(q.lines) != 0 {
		t.Errorf("left over: %v", q.lines)
	}
}

func TestWhoIsCancelledLeavesTheLine(t *testing.T) {
	var q queue
	repository := gitprovider.NewRepository("h", "r")
	leave, err := q.enter(t.Context(), repository)
	if err != nil {
		t.Fatal(err)
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := q.enter(cancelled, repository); err == nil {
		t.Error("entered in spite of the cancellation")
	}
	if line := q.lines[repository]; len(slices.DeleteFunc(line, func(c chan struct{}) bool { return c == nil })) != 0 {
		t.Errorf("still in line: %v", line)
	}
	leave()
	if leave, err = q.enter(t.Context(), repository); err != nil {
		t.Fatal(err)
	}
	leave()
}
