// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log"
	"log/slog"
	"slices"
	"strings"
	"sync"
)

// logbook is where Helm logs to. Nothing of it is ever printed. Some errors, however, Helm only logs and does not return:
// those are kept for the error of the operation.
type logbook struct {
	mutex sync.Mutex
	lines []string
}

// maxLines is how many lines are kept.
const maxLines = 5

// Enabled implements slog.Handler.
func (l *logbook) Enabled(context.Context, slog.Level) bool { return true }

// WithAttrs implements slog.Handler.
func (l *logbook) WithAttrs([]slog.Attr) slog.Handler { return l }

// WithGroup implements slog.Handler.
func (l *logbook) WithGroup(string) slog.Handler { return l }

// Handle implements slog.Handler.
func (l *logbook) Handle(_ context.Context, record slog.Record) error {
	record.Attrs(func(attribute slog.Attr) bool {
		if attribute.Key == "error" {
			l.keep(fmt.Sprint(attribute.Value.Any()))
		}
		return true
	})
	return nil
}

func (l *logbook) keep(line string) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if !slices.Contains(l.lines, line) {
		l.lines = append(l.lines, line)
	}
	if len(l.lines) > maxLines {
		l.lines = l.lines[1:]
	}
}

// told returns what was logged of errors.
func (l *logbook) told() string {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return strings.Join(l.lines, "; ")
}

// quietly keeps Helm from printing values: where it puts values together, it warns by the standard logger and quotes them.
var quietly = sync.OnceFunc(func() { log.SetOutput(&warningless{next: log.Writer()}) })

// warningless leaves out the warnings that Helm writes about values.
type warningless struct{ next io.Writer }

var warnings = [][]byte{[]byte("warning: "), []byte("Conflict: cannot merge map onto non-map"), []byte(" is table. Skipping")}

// Write implements io.Writer.
func (w *warningless) Write(line []byte) (int, error) {
	if slices.ContainsFunc(warnings, func(warning []byte) bool { return bytes.Contains(line, warning) }) {
		return len(line), nil
	}
	return w.next.Write(line)
}
