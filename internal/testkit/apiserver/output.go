// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"bytes"
	"io"
	"sync"
)

const (
	readyPrefix = "ready "
	tailBytes   = 16 << 10
)

// output keeps the newest part of what a server prints on either stream and notices the line that says that it is ready.
type output struct {
	ready chan struct{} // closed by the first line on standard output that begins with readyPrefix

	mutex   sync.Mutex
	kept    []byte
	line    []byte // the unfinished line on standard output
	isReady bool
}

func newOutput() *output { return &output{ready: make(chan struct{})} }

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

func (o *output) stdout() io.Writer {
	return writerFunc(func(p []byte) (int, error) {
		o.mutex.Lock()
		defer o.mutex.Unlock()
		o.keep(p)
		o.scan(p)
		return len(p), nil
	})
}

func (o *output) stderr() io.Writer {
	return writerFunc(func(p []byte) (int, error) {
		o.mutex.Lock()
		defer o.mutex.Unlock()
		o.keep(p)
		return len(p), nil
	})
}

func (o *output) keep(p []byte) {
	o.kept = append(o.kept, p...)
	if excess := len(o.kept) - tailBytes; excess > 0 {
		o.kept = append(o.kept[:0], o.kept[excess:]...)
	}
}

func (o *output) scan(p []byte) {
	if o.isReady {
		return
	}
	o.line = append(o.line, p...)
	for {
		line, rest, found := bytes.Cut(o.line, []byte("\n"))
		if !found {
			return
		}
		if bytes.HasPrefix(line, []byte(readyPrefix)) {
			o.isReady = true
			close(o.ready)
			return
		}
		o.line = rest
	}
}

func (o *output) tail() string {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	return string(o.kept)
}
