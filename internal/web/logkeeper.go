// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package web

import (
	"fmt"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"espalier.dev/internal/web/loglines"
	"espalier.dev/internal/web/view"
)

const (
	// maxLogLines is the number of lines kept and shown per deploy item, maxLogItems the number of deploy items with lines.
	maxLogLines, maxLogItems = 200, 500
	// logKind is the key under which controllers log the deploy item that a line is about.
	logKind = "DeployItem"
)

// LogKeeper keeps the last lines that the controllers of this process have logged about each deploy item.
type LogKeeper struct {
	mutex sync.Mutex
	items map[client.ObjectKey]*keptLines
	// order counts lines, to find the deploy item that has been silent for longest.
	order uint64
}

type keptLines struct {
	lines []view.LogLine
	last  uint64
}

// NewLogKeeper returns an empty LogKeeper.
func NewLogKeeper() *LogKeeper { return &LogKeeper{items: map[client.ObjectKey]*keptLines{}} }

// Beside returns a logger that logs like the given one, and keeps lines about deploy items.
func (k *LogKeeper) Beside(log logr.Logger) logr.Logger {
	sink := log.GetSink()
	if deep, ok := sink.(logr.CallDepthLogSink); ok {
		sink = deep.WithCallDepth(1)
	}
	return logr.New(&keepingSink{LogSink: sink, keeper: k})
}

// Of returns the lines about a deploy item, the oldest first.
func (k *LogKeeper) Of(item client.ObjectKey) []view.LogLine {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	lines := []view.LogLine{}
	if kept := k.items[item]; kept != nil {
		lines = append(lines, kept.lines...)
	}
	return lines
}

func (k *LogKeeper) add(item client.ObjectKey, line view.LogLine) {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	kept := k.items[item]
	if kept == nil {
		if len(k.items) >= maxLogItems {
			k.forgetOne()
		}
		kept = &keptLines{}
		k.items[item] = kept
	}
	k.order++
	kept.last = k.order
	kept.lines = append(kept.lines, line)
	if len(kept.lines) > maxLogLines {
		kept.lines = append([]view.LogLine{}, kept.lines[1:]...)
	}
}

// forgetOne drops the deploy item that has been silent for longest. The caller holds the lock.
func (k *LogKeeper) forgetOne() {
	var oldest client.ObjectKey
	last := k.order + 1
	for item, kept := range k.items {
		if kept.last < last {
			oldest, last = item, kept.last
		}
	}
	delete(k.items, oldest)
}

// keepingSink is the sink of a logger with values. It knows which deploy item they name.
type keepingSink struct {
	logr.LogSink
	keeper *LogKeeper
	item   client.ObjectKey
	// values are those that lines show after their message.
	values string
}

var _ logr.CallDepthLogSink = (*keepingSink)(nil)

// Init does nothing: the underlying sink is already initialised.
func (s *keepingSink) Init(logr.RuntimeInfo) {}

// Info logs a line, and keeps it if it is about a deploy item.
func (s *keepingSink) Info(level int, message string, keysAndValues ...any) {
	s.LogSink.Info(level, message, keysAndValues...)
	word := "info"
	if level > 0 {
		word = "debug"
	}
	s.keep(word, message, keysAndValues)
}

// Error logs an error, and keeps it if it is about a deploy item.
func (s *keepingSink) Error(err error, message string, keysAndValues ...any) {
	s.LogSink.Error(err, message, keysAndValues...)
	if err != nil {
		message += ": " + err.Error()
	}
	s.keep("error", message, keysAndValues)
}

func (s *keepingSink) keep(level, message string, keysAndValues []any) {
	with := s.with(keysAndValues)
	if with.item.Name == "" {
		return
	}
	now := time.Now().UTC()
	s.keeper.add(with.item, view.LogLine{Time: &now, Level: level, Text: loglines.Shortened(message + with.values)})
}

// with returns a sink with additional values.
func (s *keepingSink) with(keysAndValues []any) *keepingSink {
	next := *s
	for i := 0; i+1 < len(keysAndValues); i += 2 {
		key := fmt.Sprint(keysAndValues[i])
		switch {
		case key == logKind:
			next.item = loglines.NamedBy(keysAndValues[i+1])
		case !loglines.OfEveryLine(key):
			next.values += fmt.Sprintf(" %s=%s", key, loglines.Plain(keysAndValues[i+1]))
		}
	}
	return &next
}

// WithValues returns a sink that adds values to its lines.
func (s *keepingSink) WithValues(keysAndValues ...any) logr.LogSink {
	next := s.with(keysAndValues)
	next.LogSink = s.LogSink.WithValues(keysAndValues...)
	return next
}

// WithName returns a sink with a longer name.
func (s *keepingSink) WithName(name string) logr.LogSink {
	next := *s
	next.LogSink = s.LogSink.WithName(name)
	return &next
}

// WithCallDepth returns a sink that reports a caller further up.
func (s *keepingSink) WithCallDepth(depth int) logr.LogSink {
	next := *s
	if deep, ok := s.LogSink.(logr.CallDepthLogSink); ok {
		next.LogSink = deep.WithCallDepth(depth)
	}
	return &next
}
