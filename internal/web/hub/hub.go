// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package hub delivers changes to the streams of the web UI. A document is made once for all its readers, at most ten times per second,
// however many changes there are, and only while it has readers. Streams take what they have missed when they are ready for it: a slow one
// delays no other, and gets a whole document if the changes are no longer kept.
//
// A document is kept for a while after its last reader has left. A reader who returns within that time, and says which document they have,
// gets only the changes since.
package hub

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Interval is the minimum time between two rounds.
const Interval = 100 * time.Millisecond

// renewal is how often documents are rendered without a change, because their contents depend on the time.
const renewal = 30 * time.Second

// rest bounds the load: a round is followed by a pause of this many times its duration.
const rest = 3

// kept is the number of changes per document that are kept for streams that lag behind.
const kept = 32

// The limits of what is kept for readers who come back.
const (
	linger  = 2 * time.Minute
	maxIdle = 256
)

// Topic is a document for readers of one class.
type Topic struct {
	View, Namespace, Name string
	// Class is the key of the readers' rights.
	Class string
	// Reader is the key of the only reader, if the document shows what no other reader may see.
	Reader string
}

// Document is the state of a topic.
type Document struct {
	// Whole returns all of it as JSON. It is called at most once.
	Whole func() []byte
	// Change is the difference from the previous document; nil if only the whole document expresses it.
	Change []byte
	// State is passed to the source when it makes the next one.
	State any
}

// Source makes documents.
type Source interface {
	// Make returns the document of a topic; false if it equals the previous one, whose state is given, nil at first.
	Make(topic Topic, before any) (Document, bool)
	// Problem returns why documents may be outdated, and since when, as JSON with a distinct key; an empty key means none. Ready is false as
	// long as there is nothing to make documents from.
	Problem() (key string, data []byte)
	Ready() bool
}

// Hub manages all streams. It works while Run runs.
type Hub struct {
	source Source
	boot   string
	woken  chan struct{}

	mutex       sync.Mutex
	dirty       map[string]bool // by namespace; the empty one is everything
	readers     map[string]bool // readers whose own documents have changed
	topics      map[Topic]*state
	number      uint64
	problem     string
	problemData []byte
	ready       bool
	stirred     bool // the problem or the readiness has changed since the last round, which affects all
}

// state is a topic with its readers.
type state struct {
	topic   Topic
	mutex   sync.Mutex // held while the document is made
	made    bool
	memory  any
	whole   func() []byte
	changes []change
	last    uint64
	streams map[*Stream]bool
	idle    time.Time // when the last reader left
}

// change is the difference between the documents with the numbers after and number.
type change struct {
	after, number uint64
	data          []byte
}

// New returns a hub without streams.
func New(source Source) *Hub {
	return &Hub{
		source: source, boot: rand.Text()[:8], woken: make(chan struct{}, 1),
		dirty: map[string]bool{}, readers: map[string]bool{}, topics: map[Topic]*state{},
	}
}

// Changed reports that something in a namespace has changed, or anything if namespace is empty. It does not block.
func (h *Hub) Changed(namespace string) {
	h.mutex.Lock()
	h.dirty[namespace] = true
	h.mutex.Unlock()
	h.updateSoon()
}

// ChangedFor reports that documents of a single reader have changed. It does not block.
func (h *Hub) ChangedFor(reader string) {
	h.mutex.Lock()
	h.readers[reader] = true
	h.mutex.Unlock()
	h.updateSoon()
}

func (h *Hub) updateSoon() {
	select {
	case h.woken <- struct{}{}:
	default:
	}
}

// Run makes documents until the context is done.
func (h *Hub) Run(ctx context.Context) {
	renew := time.NewTicker(renewal)
	defer renew.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-renew.C:
			h.Changed("")
		case <-h.woken:
			began := time.Now()
			h.update()
			select {
			case <-ctx.Done():
				return
			case <-time.After(max(Interval, rest*time.Since(began))):
			}
		}
	}
}

// update updates the documents that may have changed.
func (h *Hub) update() {
	affected, ready, stirred := h.affected()
	for _, s := range affected {
		if ready && h.make(s) || stirred {
			h.wake(s)
		}
	}
}

// consult asks the source for its readiness and its problem. The caller holds the lock.
func (h *Hub) consult() {
	wasReady, before := h.ready, h.problem
	h.problem, h.problemData = h.source.Problem()
	h.ready = h.ready || h.source.Ready()
	h.stirred = h.stirred || wasReady != h.ready || before != h.problem
}

// affected returns the topics to update. If stirred, all streams must be woken, because a problem has appeared or disappeared.
func (h *Hub) affected() (affected []*state, ready, stirred bool) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	dirty, readers := h.dirty, h.readers
	h.dirty, h.readers = map[string]bool{}, map[string]bool{}
	h.consult()
	h.forget()
	stirred, h.stirred = h.stirred, false
	for topic, s := range h.topics {
		touched := len(dirty) > 0 && topic.Namespace == "" || dirty[""] || dirty[topic.Namespace] || topic.Reader != "" && readers[topic.Reader]
		if len(s.streams) > 0 && (stirred || touched) {
			affected = append(affected, s)
		}
	}
	return affected, h.ready, stirred
}

// forget drops documents whose readers have not come back. The caller holds the lock.
func (h *Hub) forget() {
	for topic, s := range h.topics {
		if len(s.streams) == 0 && time.Since(s.idle) > linger {
			delete(h.topics, topic)
		}
	}
}

// forgetOne drops the document without readers for longest, if there are too many of these. The caller holds the lock.
func (h *Hub) forgetOne() {
	var oldest *state
	idle := 0
	for _, s := range h.topics {
		if len(s.streams) > 0 {
			continue
		}
		if idle++; oldest == nil || s.idle.Before(oldest.idle) {
			oldest = s
		}
	}
	if idle > maxIdle {
		delete(h.topics, oldest.topic)
	}
}

// make updates a document and reports whether it has changed.
func (h *Hub) make(s *state) bool {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	document, changed := h.source.Make(s.topic, s.memory)
	if !changed && s.made {
		return false
	}
	h.mutex.Lock()
	defer h.mutex.Unlock()
	h.number++
	before := s.last
	s.made, s.memory, s.whole, s.last = true, document.State, sync.OnceValue(document.Whole), h.number
	if document.Change == nil {
		s.changes = nil
		return true
	}
	s.changes = append(s.changes, change{after: before, number: h.number, data: document.Change})
	if len(s.changes) > kept {
		s.changes = s.changes[1:]
	}
	return true
}

func (h *Hub) wake(s *state) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	for stream := range s.streams {
		stream.wake()
	}
}

// Stream reads a topic. It must be used by one goroutine only.
type Stream struct {
	hub   *Hub
	state *state
	woken chan struct{}

	seen    uint64
	problem string
}

// Open starts to read a topic. Seen is the ID of the last message that the reader has received; empty if none: if what came after it is
// still kept, the reader gets only that. The caller must close the stream.
func (h *Hub) Open(topic Topic, seen string) *Stream {
	h.mutex.Lock()
	s, exists := h.topics[topic]
	if !exists {
		s = &state{topic: topic, streams: map[*Stream]bool{}}
		h.topics[topic] = s
	}
	stream := &Stream{hub: h, state: s, woken: make(chan struct{}, 1), seen: h.numberOf(seen)}
	current := s.made && len(s.streams) > 0
	s.streams[stream] = true
	h.consult()
	ready, stirred := h.ready, h.stirred
	h.mutex.Unlock()
	if stirred {
		h.updateSoon() // Other streams must learn of it, too.
	}
	if ready && !current {
		h.make(s)
	}
	stream.wake()
	return stream
}

// numberOf returns the document number of an ID; 0 if the ID is not from this process.
func (h *Hub) numberOf(id string) uint64 {
	boot, text, _ := strings.Cut(id, "-")
	number, err := strconv.ParseUint(text, 10, 64)
	if err != nil || boot != h.boot {
		return 0
	}
	return number
}

// Close stops reading.
func (s *Stream) Close() {
	s.hub.mutex.Lock()
	defer s.hub.mutex.Unlock()
	delete(s.state.streams, s)
	if len(s.state.streams) == 0 {
		s.state.idle = time.Now()
		s.hub.forgetOne()
	}
}

func (s *Stream) wake() {
	select {
	case s.woken <- struct{}{}:
	default:
	}
}

// Woken receives when Take may return something.
func (s *Stream) Woken() <-chan struct{} { return s.woken }

// Message is what a stream sends: the name of an event, an increasing number, and JSON.
type Message struct {
	Event, ID string
	Data      []byte
}

// Take returns what the stream has not seen: changes if it has seen all before them, otherwise the whole document; or why documents may be
// outdated.
func (s *Stream) Take() []Message {
	h := s.hub
	h.mutex.Lock()
	if h.problem != "" {
		known := s.problem == h.problem
		s.problem = h.problem
		data, number := h.problemData, h.number
		h.mutex.Unlock()
		if known {
			return nil
		}
		return []Message{h.message("problem", number, data)}
	}
	if s.problem != "" {
		s.problem, s.seen = "", 0 // What was missed meanwhile is unknown.
	}
	if !s.state.made || s.seen == s.state.last {
		h.mutex.Unlock()
		return nil
	}
	missed, complete := s.state.since(s.seen)
	whole, last := s.state.whole, s.state.last
	s.seen = last
	h.mutex.Unlock()
	if !complete {
		return []Message{h.message("snapshot", last, whole())}
	}
	var messages []Message
	for _, c := range missed {
		messages = append(messages, h.message("change", c.number, c.data))
	}
	return messages
}

// since returns the changes after a document; false if they are no longer kept.
func (s *state) since(seen uint64) ([]change, bool) {
	for i, c := range s.changes {
		if c.after == seen && seen != 0 {
			return s.changes[i:], true
		}
	}
	return nil, false
}

func (h *Hub) message(event string, number uint64, data []byte) Message {
	return Message{Event: event, ID: fmt.Sprintf("%s-%d", h.boot, number), Data: data}
}

// Encode encodes a value that is known to be valid as JSON.
func Encode(value any) []byte {
	text, err := json.Marshal(value)
	if err != nil {
		panic(fmt.Sprintf("write a document: %v", err))
	}
	return text
}
