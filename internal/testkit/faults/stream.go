// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// errEnd is the error that a client reads at the end of a watch that the server has closed.
var errEnd = io.EOF

// askForJSON removes the binary formats that the client accepts for a watch.
func askForJSON(httpRequest *http.Request) {
	var accepted []string
	for form := range strings.SplitSeq(httpRequest.Header.Get("Accept"), ",") {
		if form = strings.TrimSpace(form); strings.HasPrefix(form, jsonType) {
			accepted = append(accepted, form)
		}
	}
	if len(accepted) == 0 {
		accepted = []string{jsonType}
	}
	httpRequest.Header.Set("Accept", strings.Join(accepted, ","))
}

// intercept puts a stream between the answer to a watch and its reader.
func (t *Transport) intercept(r Request, response *http.Response) error {
	form, _, err := mime.ParseMediaType(response.Header.Get("Content-Type"))
	if err != nil || form != jsonType {
		return fmt.Errorf("the watch of %s answers in %q, and faults need JSON", r.GroupResource(), response.Header.Get("Content-Type"))
	}
	s := &stream{transport: t, request: r, upstream: response.Body, listing: r.StreamsList}
	t.mutex.Lock()
	defer t.mutex.Unlock()
	if t.IsCrashed() {
		return resetError()
	}
	t.streams[s] = struct{}{}
	response.Body = s
	go s.pump()
	return nil
}

// frame is one event of a watch, as the server sent it.
type frame struct {
	content  []byte
	passes   bool // not subject to a hold: part of a list, or created by us
	bookmark bool
	due      time.Time
}

// stream is the body of one watch. It reads ahead of its client, so that withholding events never makes the client look slow to the server,
// and passes the events on, in order, when the watchFaults allow it. All fields are guarded by the transport's lock.
type stream struct {
	transport *Transport
	request   Request
	upstream  io.ReadCloser
	listing   bool // the events so far are those of a list

	queue   []frame
	current []byte // rest of the current event
	drained error  // why no more events come from the server
	ended   error  // why the client gets no more, even if events are queued
}

// pump moves events from the server to the queue until either side ends.
func (s *stream) pump() {
	decoder := json.NewDecoder(s.upstream)
	for {
		var content json.RawMessage
		err := decoder.Decode(&content)
		s.transport.mutex.Lock()
		if err != nil {
			if s.drained == nil {
				s.drained = err
			}
			s.transport.changed.Broadcast()
			s.transport.mutex.Unlock()
			return
		}
		s.enqueue(content)
		s.transport.mutex.Unlock()
	}
}

func (s *stream) enqueue(content []byte) {
	if s.drained != nil || s.ended != nil {
		return
	}
	f := frame{content: append(slices.Clip(content), '\n'), passes: s.listing}
	if delay := s.transport.watchFaults.delay(s.request); delay > 0 {
		f.due = time.Now().Add(delay)
	}
	var event struct {
		Type   string                       `json:"type"`
		Object metav1.PartialObjectMetadata `json:"object"`
	}
	if err := json.Unmarshal(content, &event); err == nil && event.Type == "BOOKMARK" {
		f.bookmark = true
		if event.Object.Annotations[metav1.InitialEventsAnnotationKey] == "true" {
			s.listing = false
		}
	}
	s.queue = append(s.queue, f)
	s.transport.changed.Broadcast()
}

// Read passes on the next event as soon as it may be seen.
func (s *stream) Read(p []byte) (int, error) {
	s.transport.mutex.Lock()
	defer s.transport.mutex.Unlock()
	for len(s.current) == 0 {
		if s.ended != nil {
			return 0, s.ended
		}
		if s.advance() {
			continue
		}
		if len(s.queue) == 0 && s.drained != nil {
			return 0, s.drained
		}
		s.transport.changed.Wait()
	}
	n := copy(p, s.current)
	s.current = s.current[n:]
	return n, nil
}

// advance takes the next event from the queue if it may be seen now. If it is only too early, it schedules another attempt.
func (s *stream) advance() bool {
	if len(s.queue) == 0 {
		return false
	}
	next := s.queue[0]
	if s.transport.frozen || !next.passes && s.transport.watchFaults.holding(s.request) {
		return false
	}
	if wait := time.Until(next.due); wait > 0 {
		time.AfterFunc(wait, func() {
			s.transport.mutex.Lock()
			defer s.transport.mutex.Unlock()
			s.transport.changed.Broadcast()
		})
		return false
	}
	s.current, s.queue = next.content, s.queue[1:]
	return true
}

// Close is called by the client when it is done.
func (s *stream) Close() error {
	s.transport.mutex.Lock()
	defer s.transport.mutex.Unlock()
	s.endLocked(http.ErrBodyReadAfterClose)
	s.transport.changed.Broadcast()
	return nil
}

// hangUp closes the server's side. It uses the network, so it must not run under the lock.
func (s *stream) hangUp() { go func() { _ = s.upstream.Close() }() }

// endLocked ends the stream for its client and for the server. Queued events are dropped, which is no loss: a client that resumes gets them
// again. An event that the client has started to read is completed.
func (s *stream) endLocked(reason error) {
	if s.ended == nil {
		s.ended = reason
	}
	s.queue = nil
	delete(s.transport.streams, s)
	s.hangUp()
}

// expireLocked makes 410 Gone the next and last event.
func (s *stream) expireLocked() {
	status, err := encodeStatus(apierrors.NewResourceExpired(errInjected.Error()))
	if err != nil {
		s.endLocked(err)
		return
	}
	s.queue = []frame{{content: fmt.Appendf(nil, `{"type":"ERROR","object":%s}`+"\n", status), passes: true}}
	s.drained = errEnd
	s.hangUp()
}

// withheld counts the events that a hold keeps from the client.
func (s *stream) withheld() int {
	count := 0
	for _, f := range s.queue {
		if !f.passes && !f.bookmark {
			count++
		}
	}
	return count
}
