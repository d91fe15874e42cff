// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package up

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
)

// quietTime is how long a start may take before the user sees its progress.
const quietTime = 2 * time.Second

// progress prints the steps of a slow start.
type progress struct {
	w     io.Writer
	timer *time.Timer

	mu      sync.Mutex
	current string
	loud    bool
	ended   bool
}

func newProgress(w io.Writer, quiet time.Duration) *progress {
	p := &progress{w: w}
	p.timer = time.AfterFunc(quiet, p.speakUp)
	return p
}

func (p *progress) step(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.current = name
	p.print()
}

// speakUp prints the current step and enables later ones.
func (p *progress) speakUp() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.loud = true
	p.print()
}

func (p *progress) print() {
	if p.loud && !p.ended && p.current != "" {
		fmt.Fprintf(p.w, "%s ...\n", p.current)
	}
}

// explain adds the current step to the error of a start that took too long.
func (p *progress) explain(err error, limit time.Duration) error {
	if !errors.Is(err, errTooLong) {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return fmt.Errorf("%s is not done within %s (--start-timeout): %w", p.current, limit, err)
}

// end may be called more than once.
func (p *progress) end() {
	p.timer.Stop()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended = true
}
