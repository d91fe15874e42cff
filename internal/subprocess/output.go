// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package subprocess

import (
	"bytes"
	"sync"
)

const keptOutput = 16 << 10

// output keeps the newest part of what a program prints, and passes each finished line to notice.
type output struct {
	notice func(line string) // may be nil

	mutex sync.Mutex
	kept  []byte
	line  []byte // the unfinished one
}

func (o *output) Write(p []byte) (int, error) {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	o.kept = append(o.kept, p...)
	if excess := len(o.kept) - keptOutput; excess > 0 {
		o.kept = append(o.kept[:0], o.kept[excess:]...)
	}
	if o.notice != nil {
		o.show(p)
	}
	return len(p), nil
}

func (o *output) show(p []byte) {
	o.line = append(o.line, p...)
	for {
		line, rest, found := bytes.Cut(o.line, []byte("\n"))
		if !found {
			return
		}
		o.notice(string(line))
		o.line = rest
	}
}

func (o *output) String() string {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	return string(o.kept)
}
