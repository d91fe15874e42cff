// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package hub brings changes to the streams of the web UI. A document is made once for all its readers, at most ten times in a second,
// however many changes there are, and only while somebody reads it. Streams take what they have missed when they are ready for it: a slow
// one keeps nobody waiting and gets a whole document where the changes are gone.
//
// A document is remembered for a while after its last reader has gone. Whoever comes back within that time, and says which document he has,
// gets only what has changed since.
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

// Interval is the time between two looks at what has changed.
const Interval = 100 * time.Millisecond

// renewal is how often documents are made anew without a change, because time goes by.
const renewal = 30 * time.Second

// rest bounds the work: a look that took long is followed by a pause of this many times its length.
const rest = 3

// kept is how many changes of a document are kept for streams that are behind.
const kept = 32

// The limits of what is remembered for those who come back.
const (
	linger  = 2 * time.Minute
	maxIdle = 256
)

// Topic is a document for readers of one class.
type Topic struct {
	View, Namespace, Name string
	// Class is the key of the readers' rights.
	Class string
	// Reader is the key of the only reader, if the document shows what nobody else may see.
	Reader string
}

// Document is the state of a topic.
type Document struct {
	// Whole writes all of it. It is called at most once.
	Whole func() []byte
	// Change is what is different from the document before; nil if only the whole says that.
	Change []byte
	// State is what the maker wants to see again when it makes the next one.
	State any
}

// Source makes documents.
type Source interface {
	// Make returns the document of a topic; false if it is the same as the one before, whose state is given, nil at first.
	Make(topic Topic, before any) (Document, bool)
	// Problem says why documents may be out of date, and since when, as JSON with a key that is different for each; an empty key is none.
	// Ready is false as long as there is nothing to make documents from.
	Problem() (key string, data []byte)
	Ready() bool
}

// Hub knows all streams. It works while Run runs.
type Hub struct {
	source Source
	boot   string
	woken  chan struct{}

	mutex   sync.Mutex
	dirty   map[string]bool // by namespace; the empty one is everything
	readers map[string]bool // those for whom alone something has changed
	topics  map[Topic]*state
	number  uint64
	problem string
	trouble []byte
	ready   bool
	stirred bool // the problem or the readiness has changed since the last look, which matters to all
}

// state is a topic that somebody reads.
type state struct {
	topic   Topic
	mutex   sync.Mutex // held while the document is made
	made    bool
	memory  any
	whole   func() []byte
	changes []change
	last    uint64
	streams map[*Stream]bool
	idle    time.Time // since when nobody reads it
}

// change leads from the document after which it came to the one of its number.
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

// Changed tells that something in a namespace has changed, or anything if it has no name. It does not block.
func (h *Hub) Changed(namespace string) {
	h.mutex.Lock()
	h.dirty[namespace] = true
	h.mutex.Unlock()
	h.lookSoon()
}

// ChangedFor tells that something has changed in the documents that one reader alone sees. It does not block.
func (h *Hub) ChangedFor(reader string) {
	h.mutex.Lock()
	h.readers[reader] = true
	h.mutex.Unlock()
	h.lookSoon()
}

func (h *Hub) lookSoon() {
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
			h.look()
			select {
			case <-ctx.Done():
				return
			case <-time.After(max(Interval, rest*time.Since(began))):
			}
		}
	}
}

// look makes the documents anew that what has changed may occur in.
func (h *Hub) look() {
	affected, ready, stirred := h.affected()
	for _, s := range affected {
		if ready && h.make(s) || stirred {
			h.wake(s)
		}
	}
}

// consult asks the source whether it is ready and what troubles it. The caller holds the lock.
func (h *Hub) consult() {
	wasReady, before := h.ready, h.problem
	h.problem, h.trouble = h.source.Problem()
	h.ready = h.ready || h.source.Ready()
	h.stirred = h.stirred || wasReady != h.ready || before != h.problem
}

// affected are the topics to make anew. Stirred says that all streams have to look, because of a problem that came or went.
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

// forget drops what nobody has come back to. The caller holds the lock.
func (h *Hub) forget() {
	for topic, s := range h.topics {
		if len(s.streams) == 0 && time.Since(s.idle) > linger {
			delete(h.topics, topic)
		}
	}
}

// forgetOne drops the document that nobody has read for longest, if there are too many of these. The caller holds the lock.
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

// make brings a document up to date and reports whether it is another one.
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

// Stream is somebody who reads a topic. It is used by one goroutine.
type Stream struct {
	hub   *Hub
	state *state
	woken chan struct{}

	seen    uint64
	problem string
}

// Open begins to read a topic. Seen is the ID of the last message that the reader has got, and empty if he has none: if what came after
// it is still known, he gets that and nothing else. The caller has to close the stream.
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
		h.lookSoon() // Others have to hear of it, too.
	}
	if ready && !current {
		h.make(s)
	}
	stream.wake()
	return stream
}

// numberOf is the document of an ID; 0 if it is not one of this process.
func (h *Hub) numberOf(id string) uint64 {
	boot, text, _ := strings.Cut(id, "-")
	number, err := strconv.ParseUint(text, 10, 64)
	if err != nil || boot != h.boot {
		return 0
	}
	return number
}

// Close ends the reading.
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

// Woken receives when there may be something to take.
func (s *Stream) Woken() <-chan struct{} { return s.woken }

// Message is what a stream sends: the name of an event, a number that grows, and JSON.
type Message struct {
	Event, ID string
	Data      []byte
}

// Take returns what the stream has not seen: changes if it has seen all before them, otherwise the whole document; or why documents may
// be out of date.
func (s *Stream) Take() []Message {
	h := s.hub
	h.mutex.Lock()
	if h.problem != "" {
		known := s.problem == h.problem
		s.problem = h.problem
		trouble, number := h.trouble, h.number
		h.mutex.Unlock()
		if known {
			return nil
		}
		return []Message{h.message("problem", number, trouble)}
	}
	if s.problem != "" {
		s.problem, s.seen = "", 0 // What was missed meanwhile is not known.
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

// since returns the changes after a document; false if they are gone.
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

// Encode writes a value that is known to fit into JSON.
func Encode(value any) []byte {
	text, err := json.Marshal(value)
	if err != nil {
		panic(fmt.Sprintf("write a document: %v", err))
	}
	return text
}
