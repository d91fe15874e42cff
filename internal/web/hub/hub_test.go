// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package hub_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"testing"

	"espalier.dev/internal/web/hub"
)

// counter is a source whose documents are numbers, and whose changes name the old and the new one.
type counter struct {
	mutex   sync.Mutex
	value   int
	made    int
	problem string
	ready   bool
	asked   chan struct{} // has capacity one, and receives when the hub asks for problems; nil if unused
}

func (c *counter) Make(_ hub.Topic, before any) (hub.Document, bool) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.made++
	value := c.value
	document := hub.Document{State: value, Whole: func() []byte { return []byte(strconv.Itoa(value)) }}
	if before != nil {
		document.Change = fmt.Appendf(nil, "%d>%d", before, value)
	}
	return document, before != value
}

func (c *counter) Problem() (string, []byte) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	select {
	case c.asked <- struct{}{}:
	default:
	}
	return c.problem, []byte(c.problem)
}

func (c *counter) Ready() bool {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.ready
}

func (c *counter) set(change func()) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	change()
}

// settle returns when the hub has processed all earlier changes. The hub asks for problems at the start of each round, and rounds do not
// overlap: when the second round seen here starts, the first, which found all changes, has ended.
func (c *counter) settle(h *hub.Hub) {
	for range 2 {
		select {
		case <-c.asked:
		default:
		}
		h.ChangedFor("nobody")
		<-c.asked
	}
}

// stage runs a hub until the test ends.
func stage(t *testing.T, source *counter) *hub.Hub {
	t.Helper()
	h := hub.New(source)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); h.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-done })
	return h
}

// await takes what a stream gets until there is an event with some data, and returns all of it.
func await(t *testing.T, s *hub.Stream, event, data string) []string {
	t.Helper()
	var got []string
	for {
		for _, m := range s.Take() {
			got = append(got, m.Event+" "+string(m.Data))
		}
		if slices.Contains(got, event+" "+data) {
			return got
		}
		select {
		case <-s.Woken():
		case <-t.Context().Done():
			t.Fatalf("no %s %s; got %q", event, data, got)
		}
	}
}

func TestAStreamGetsTheWholeAndThenChanges(t *testing.T) {
	source := &counter{value: 1, ready: true}
	h := stage(t, source)
	s := h.Open(hub.Topic{View: "v"}, "")
	defer s.Close()
	if got := await(t, s, "snapshot", "1"); len(got) != 1 {
		t.Errorf("at first: %q", got)
	}
	for value := 2; value < 5; value++ {
		source.set(func() { source.value = value })
		h.Changed("")
		change := fmt.Sprintf("%d>%d", value-1, value)
		if got := await(t, s, "change", change); !slices.Equal(got, []string{"change " + change}) {
			t.Errorf("then: %q", got)
		}
	}
}

// A stream that lags slightly gets the changes in order; one that has missed more than are kept gets a whole document.
func TestAStreamThatIsBehind(t *testing.T) {
	source := &counter{value: 1, ready: true}
	h := stage(t, source)
	quick, slow, lazy := h.Open(hub.Topic{}, ""), h.Open(hub.Topic{}, ""), h.Open(hub.Topic{}, "")
	for _, s := range []*hub.Stream{quick, slow, lazy} {
		defer s.Close()
		await(t, s, "snapshot", "1")
	}
	step := func(to int) {
		source.set(func() { source.value = to })
		h.Changed("")
		await(t, quick, "change", fmt.Sprintf("%d>%d", to-1, to))
	}
	step(2)
	step(3)
	if got := await(t, slow, "change", "2>3"); !slices.Equal(got, []string{"change 1>2", "change 2>3"}) {
		t.Errorf("a little behind: %q", got)
	}
	for to := 4; to < 40; to++ {
		step(to)
	}
	if got := await(t, lazy, "snapshot", "39"); len(got) != 1 {
		t.Errorf("far behind: %q", got)
	}
}

// Readers of one topic share a document, which is not made without readers.
func TestADocumentIsMadeOnceForAllItsReaders(t *testing.T) {
	source := &counter{value: 1, ready: true}
	h := stage(t, source)
	var streams []*hub.Stream
	for range 50 {
		streams = append(streams, h.Open(hub.Topic{View: "v", Namespace: "a"}, ""))
	}
	for _, s := range streams {
		await(t, s, "snapshot", "1")
		s.Close()
	}
	other := h.Open(hub.Topic{View: "v", Namespace: "b"}, "")
	defer other.Close()
	await(t, other, "snapshot", "1")
	source.set(func() { source.value = 2 })
	h.Changed("b")
	await(t, other, "change", "1>2")
	source.set(func() {
		// The first round makes it again, because the source has become ready.
		if source.made > 4 {
			t.Errorf("51 readers: made %d times", source.made)
		}
	})
}

// New streams learn of a problem at once; open ones are notified, too, and get a whole document when it is over.
func TestEverybodyHearsOfAProblem(t *testing.T) {
	source := &counter{value: 1, ready: true}
	h := stage(t, source)
	s := h.Open(hub.Topic{View: "early"}, "")
	defer s.Close()
	await(t, s, "snapshot", "1")
	source.set(func() { source.problem = "away" })
	late := h.Open(hub.Topic{View: "late"}, "")
	defer late.Close()
	await(t, late, "problem", "away")
	await(t, s, "problem", "away")
	source.set(func() { source.problem = "" })
	h.Changed("")
	await(t, s, "snapshot", "1")
	await(t, late, "snapshot", "1")
}

// A reader who comes before there is anything to show gets it as soon as there is, even if another reader notices first.
func TestAnEarlyReaderIsServed(t *testing.T) {
	source := &counter{value: 1}
	h := stage(t, source)
	early := h.Open(hub.Topic{View: "early"}, "")
	defer early.Close()
	if got := early.Take(); len(got) > 0 {
		t.Errorf("too early: %v", got)
	}
	source.set(func() { source.ready = true })
	second := h.Open(hub.Topic{View: "second"}, "")
	defer second.Close()
	await(t, second, "snapshot", "1")
	await(t, early, "snapshot", "1")
}

// A page that reconnects after a restart must not confuse the numbers of the new server with those of the old one.
func TestIDsOfTwoServersDiffer(t *testing.T) {
	ids := map[string]bool{}
	for range 2 {
		s := stage(t, &counter{value: 1, ready: true}).Open(hub.Topic{}, "")
		defer s.Close()
		for _, m := range s.Take() {
			ids[m.ID] = true
		}
	}
	if len(ids) != 2 {
		t.Errorf("IDs %v", ids)
	}
}
