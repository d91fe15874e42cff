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

// logbook is Helm's log. Nothing in it is ever printed. However, Helm logs some errors without returning them: those are
// kept for the error of the operation.
type logbook struct {
	mutex sync.Mutex
	lines []string
}

// maxLines is the number of lines kept.
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

// told returns the logged errors.
func (l *logbook) told() string {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return strings.Join(l.lines, "; ")
}

// quietly keeps Helm from printing values: when it merges values, it writes warnings that quote them to the standard logger.
var quietly = sync.OnceFunc(func() { log.SetOutput(&warningless{next: log.Writer()}) })

// warningless drops Helm's warnings about values.
type warningless struct{ next io.Writer }

var warnings = [][]byte{[]byte("warning: "), []byte("Conflict: cannot merge map onto non-map"), []byte(" is table. Skipping")}

// Write implements io.Writer.
func (w *warningless) Write(line []byte) (int, error) {
	if slices.ContainsFunc(warnings, func(warning []byte) bool { return bytes.Contains(line, warning) }) {
		return len(line), nil
	}
	return w.next.Write(line)
}
