// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package hub_test

import (
	"fmt"
	"slices"
	"testing"

	"espalier.dev/internal/web/hub"
)

// lastID takes what a stream has until it gets some data, and returns the ID of that event.
func lastID(t *testing.T, s *hub.Stream, data string) string {
	t.Helper()
	for {
		for _, m := range s.Take() {
			if string(m.Data) == data {
				return m.ID
			}
		}
		select {
		case <-s.Woken():
		case <-t.Context().Done():
			t.Fatalf("no %s", data)
		}
	}
}

// taken returns what a stream has when it is opened.
func taken(s *hub.Stream) []string {
	got := []string{}
	for _, m := range s.Take() {
		got = append(got, m.Event+" "+string(m.Data))
	}
	return got
}

func TestWhoComesBackGetsWhatHeHasMissed(t *testing.T) {
	source := &counter{value: 1, ready: true}
	h := stage(t, source)
	topic := hub.Topic{View: "v", Namespace: "a"}
	s := h.Open(topic, "")
	seen := lastID(t, s, "1")
	s.Close()

	again := h.Open(topic, seen)
	if got := taken(again); len(got) != 0 {
		t.Errorf("who has missed nothing gets %q", got)
	}
	source.set(func() { source.value = 2 })
	h.Changed("a")
	later := lastID(t, again, "1>2")
	again.Close()

	source.set(func() { source.value = 3 }) // Nobody reads it.
	for id, want := range map[string][]string{
		later: {"change 2>3"}, seen: {"change 1>2", "change 2>3"}, "": {"snapshot 3"}, "other-1": {"snapshot 3"}, later + "0": {"snapshot 3"},
		"nonsense": {"snapshot 3"},
	} {
		s := h.Open(topic, id)
		if got := taken(s); !slices.Equal(got, want) {
			t.Errorf("who has seen %q gets %q, not %q", id, got, want)
		}
		s.Close()
	}
	other := h.Open(hub.Topic{View: "v", Namespace: "a", Class: "another"}, later)
	defer other.Close()
	if got := taken(other); !slices.Equal(got, []string{"snapshot 3"}) {
		t.Errorf("who has got other rights gets %q", got)
	}
}

// What is kept for readers who may come back is limited.
func TestTheOldestIsForgotten(t *testing.T) {
	h := stage(t, &counter{value: 1, ready: true})
	ids := map[int]string{}
	topic := func(i int) hub.Topic { return hub.Topic{View: fmt.Sprint(i)} }
	const many = 300
	for i := range many {
		s := h.Open(topic(i), "")
		ids[i] = lastID(t, s, "1")
		s.Close()
	}
	first, last := h.Open(topic(0), ids[0]), h.Open(topic(many-1), ids[many-1])
	defer first.Close()
	defer last.Close()
	if got := taken(first); !slices.Equal(got, []string{"snapshot 1"}) {
		t.Errorf("of the oldest: %q", got)
	}
	if got := taken(last); len(got) != 0 {
		t.Errorf("of the latest: %q", got)
	}
}

func TestOneReaderAloneIsTold(t *testing.T) {
	source := &counter{value: 1, ready: true, asked: make(chan struct{}, 1)}
	h := stage(t, source)
	ann, bob := h.Open(hub.Topic{View: "v", Reader: "ann"}, ""), h.Open(hub.Topic{View: "v", Reader: "bob"}, "")
	defer ann.Close()
	defer bob.Close()
	await(t, ann, "snapshot", "1")
	await(t, bob, "snapshot", "1")
	source.settle(h)
	source.set(func() { source.value = 2 })
	h.ChangedFor("ann")
	await(t, ann, "change", "1>2")
	if got := taken(bob); len(got) != 0 {
		t.Errorf("bob gets %q", got)
	}
}
