// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package job

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// stream is what is known of the log of one container.
type stream struct {
	// open is set while it is read.
	open bool
	// last is the time of the last line, and restarts how often the container had been restarted when it was opened.
	last     time.Time
	restarts int32
	// complete says that it was read to its end after the container had ended.
	complete bool
	// failures is how often in a row it could not be read.
	failures int
}

// maxFailures is how often reading the log of a container is tried when nothing else is left to wait for.
const maxFailures = 3

// ending is that of a stream.
type ending struct {
	key  string
	last time.Time
	err  error
	// final says that the container had ended before it was read.
	final bool
}

// follower reads logs as they grow, and those of containers that start later.
type follower struct {
	*session
	streams map[string]*stream
	endings chan ending
	// readers are the goroutines that read.
	readers sync.WaitGroup
}

// follow prints lines as they come until the job has finished and all containers have ended, or the context ends.
func (s *session) follow(parent context.Context, all *found) {
	ctx, cancel := context.WithCancel(parent)
	f := &follower{session: s, streams: map[string]*stream{}, endings: make(chan ending)}
	defer f.readers.Wait()
	defer cancel()
	search := time.NewTicker(searching)
	defer search.Stop()
	f.printNew(ctx, all)
	f.open(ctx, all)
	for !f.over(all) {
		select {
		case end := <-f.endings:
			f.streams[end.key].end(end)
			continue
		case <-search.C:
		case <-ctx.Done():
			return
		}
		f.search(ctx, all)
		f.printNew(ctx, all)
		f.open(ctx, all)
	}
	f.printLast(ctx, all)
}

// search looks for pods again. A cluster that does not answer may do so the next time. If the object is gone, so is its job.
func (f *follower) search(ctx context.Context, all *found) {
	next, err := f.finder.find(ctx)
	switch {
	case ctx.Err() != nil:
	case errors.Is(err, errGone):
		f.note(f.options.name + " is gone")
		all.finished, all.starting = true, nil
	case err != nil:
		f.note(fmt.Sprintf("cannot list new pods, retrying: %v", err))
	default:
		f.complain(next.problems...)
		*all = *next
	}
}

// over reports whether nothing more will come.
func (f *follower) over(all *found) bool {
	coming := func(from source) bool {
		known := f.streams[from.key()]
		return known == nil || !known.complete && known.failures < maxFailures
	}
	return f.isBroken() || all.finished && f.reading() == 0 && len(all.starting) == 0 && !slices.ContainsFunc(all.sources, coming)
}

// reading counts the streams that are open.
func (f *follower) reading() int {
	count := 0
	for _, s := range f.streams {
		if s.open {
			count++
		}
	}
	return count
}

func (s *session) isBroken() bool {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.broken != nil
}

// open begins to read what is not read yet.
func (f *follower) open(ctx context.Context, all *found) {
	for _, from := range all.starting {
		if why := because(from); why != "" && why != ": ContainerCreating" && why != ": PodInitializing" {
			f.note(fmt.Sprintf("%s has not started%s", from.title(), why))
		}
	}
	for _, from := range all.sources {
		known := f.streams[from.key()]
		if known == nil {
			known = &stream{restarts: -1}
			f.streams[from.key()] = known
		}
		if !known.wanted(from) {
			continue
		}
		if f.reading() >= maxStreams {
			f.complain(fmt.Sprintf("only the logs of %d containers are shown at the same time: name a deploy item to see others", maxStreams))
			return
		}
		known.open, known.restarts = true, from.status.RestartCount
		resume := known.last
		f.readers.Go(func() { f.readToEnd(ctx, from, resume) })
	}
}

// readToEnd prints the lines of a log after a time until its end, and tells that it has ended.
func (f *follower) readToEnd(ctx context.Context, from source, resume time.Time) {
	last, err := f.read(ctx, from, resume, func(l line) error { return f.print(from, l) })
	if err != nil && ctx.Err() == nil && !f.isBroken() {
		f.failed(from, err)
	}
	select {
	case f.endings <- ending{key: from.key(), last: last, err: err, final: !from.running()}:
	case <-ctx.Done():
	}
}

// wanted reports whether there may be more to read: the stream may have been cut before the container ended.
func (s *stream) wanted(from source) bool {
	switch {
	case s.open:
		return false
	case from.running() || from.status.RestartCount > s.restarts:
		return true
	default:
		return !s.complete && s.failures < maxFailures
	}
}

// end takes note of the end of a stream.
func (s *stream) end(e ending) {
	if e.err == nil || e.last.After(s.last) {
		s.failures = 0
	}
	if e.err != nil {
		s.failures++
	}
	s.open, s.last, s.complete = false, e.last, e.err == nil && e.final
}
