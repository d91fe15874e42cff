// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package job

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"espalier.dev/internal/cli"
	"espalier.dev/internal/cli/display"
	"espalier.dev/internal/web/view"
)

const (
	// maxStreams is how many logs are read at the same time.
	maxStreams = 100
	// maxLine is how long a line may be. A longer one is cut into several.
	maxLine = 256 << 10
	// searching is how often pods are looked for that have started meanwhile.
	searching = 2 * time.Second
)

// line of a log.
type line struct {
	at   time.Time
	text string
	// title stands in front of the line; without one, that of its source does.
	title string
}

// session is one use of the command.
type session struct {
	options logsOptions
	finder  *finder
	printer display.Printer

	mutex   sync.Mutex // guards what follows, and both outputs
	printed int
	told    map[string]bool
	// toldEvents are the Events that were printed, with the times at which they were seen last. Only one goroutine uses it.
	toldEvents map[types.UID]time.Time
	// controllers is what is known of the logs of the controllers. Only one goroutine uses it.
	controllers controllerLog
	// incomplete says that something could not be read.
	incomplete bool
	broken     error // why standard output takes nothing any more
}

func newSession(o logsOptions, f *finder) *session {
	return &session{
		options: o, finder: f, printer: display.To(o.env, o.env.Out), told: map[string]bool{}, toldEvents: map[types.UID]time.Time{},
		controllers: controllerLog{tree: map[view.Ref]bool{}, last: map[string]time.Time{}},
	}
}

// note tells people something, once.
func (s *session) note(text string) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if text = display.Clean(text); !s.told[text] {
		s.told[text] = true
		s.options.access.Tell("%s", text)
	}
}

// complain names what stands in the way of some logs.
func (s *session) complain(problems ...string) {
	for _, problem := range problems {
		s.note(problem)
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.incomplete = s.incomplete || len(problems) > 0
}

// colours of the prefixes. What each means stands behind it.
var colours = []display.Style{display.Cyan, display.Purple, display.Blue, display.Green, display.Yellow}

func (s *session) print(from source, l line) error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.broken == nil {
		s.printed++
		s.broken = s.write(from, l)
	}
	return s.broken
}

func (s *session) write(from source, l line) error {
	switch format := s.options.chosen; {
	case format == display.FormatJSON:
		encoder := json.NewEncoder(s.options.env.Out)
		encoder.SetEscapeHTML(false)
		return encoder.Encode(reported(from, l))
	case format == display.FormatYAML:
		if _, err := io.WriteString(s.options.env.Out, "---\n"); err != nil {
			return err
		}
		fallthrough
	case format.IsData():
		return s.printer.Data(reported(from, l), format)
	}
	title := display.Clean(titleOf(from, l))
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(title)) // A hash never fails.
	prefix := s.printer.Paint("["+title+"]", colours[hash.Sum32()%uint32(len(colours))])
	return s.printer.Lines(strings.TrimRight(prefix+" "+display.Verbatim(l.text), " "))
}

// titleOf is what stands in front of a line.
func titleOf(from source, l line) string {
	if l.title != "" {
		return l.title
	}
	return from.title()
}

// reportedLine is a line for programs. Events and lines of controllers have no pod.
type reportedLine struct {
	Time time.Time `json:"time,omitzero"`
	// Source is what stands in front of the line for people.
	Source     string `json:"source"`
	DeployItem string `json:"deployItem,omitempty"`
	Namespace  string `json:"namespace,omitempty"`
	Pod        string `json:"pod,omitempty"`
	Container  string `json:"container,omitempty"`
	Text       string `json:"text"`
}

func reported(from source, l line) reportedLine {
	r := reportedLine{Time: l.at, Source: titleOf(from, l), Text: l.text}
	if l.title == "" {
		r.DeployItem, r.Namespace, r.Pod, r.Container = from.item, from.pod.Namespace, from.pod.Name, from.container
	}
	return r
}

// follows reports whether a log is read until its container ends.
func (s *session) follows(from source) bool { return s.options.follow && !from.controllers }

// opening says what is wanted of a log: lines after a time if some of it was read before, or else what the flags say.
func (s *session) opening(from source, resume time.Time) *corev1.PodLogOptions {
	options := &corev1.PodLogOptions{Container: from.container, Timestamps: true, Follow: s.follows(from)}
	if !resume.IsZero() {
		options.SinceTime = new(metav1.NewTime(resume))
		return options
	}
	if s.options.tail != everyLine && !from.controllers {
		options.TailLines = new(s.options.tail)
	}
	switch {
	case s.options.since > 0: // By the clock of the node, as kubectl does.
		options.SinceSeconds = new(int64(math.Ceil(s.options.since.Seconds())))
	case !from.since.IsZero():
		options.SinceTime = new(metav1.NewTime(from.since))
	}
	return options
}

// read passes on the lines of a log after a time until it ends, the reader has enough or the context ends. It returns the time of the last
// one. A cluster that does not answer must not hold up the others, so that there is a limit, except for logs that are followed: nodes do
// not answer before there is a line.
func (s *session) read(parent context.Context, from source, resume time.Time, take func(line) error) (last time.Time, err error) {
	ctx, cancel := context.WithCancelCause(parent)
	defer cancel(nil)
	limit := time.AfterFunc(s.options.patience, func() { cancel(fmt.Errorf("timed out after %s waiting for an answer", s.options.patience)) })
	defer limit.Stop()
	wait := func() {
		if limit.Stop(); !s.follows(from) {
			limit.Reset(s.options.patience)
		}
	}
	wait()
	last = resume
	stream, err := from.pods.Pods(from.pod.Namespace).GetLogs(from.pod.Name, s.opening(from, resume)).Stream(ctx)
	if err != nil {
		return last, cmp.Or(context.Cause(ctx), err)
	}
	defer func() { _ = stream.Close() }() // What matters was read.
	reader := bufio.NewReaderSize(stream, maxLine)
	for {
		wait()
		text, err := reader.ReadSlice('\n')
		limit.Stop() // Whoever takes the line may wait for other logs.
		next := lineOf(text, last)
		known := !resume.IsZero() && !next.at.After(resume) // The API knows seconds only, and so tells some lines again.
		if len(text) > 0 && !known {
			last = next.at
			if refused := take(next); refused != nil {
				return last, refused
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return last, nil
		case err != nil && !errors.Is(err, bufio.ErrBufferFull):
			return last, cmp.Or(context.Cause(ctx), err)
		}
	}
}

// lineOf reads a line that begins with its time, as the kubelet writes it. What does not, such as the rest of a line that was too long, has
// the time of the one before.
func lineOf(text []byte, before time.Time) line {
	text = bytes.TrimRight(text, "\r\n")
	stamp, rest, found := bytes.Cut(text, []byte(" "))
	if at, err := time.Parse(time.RFC3339Nano, string(stamp)); err == nil && (found || len(rest) == 0) {
		return line{at: at, text: string(rest)}
	}
	return line{at: before, text: string(text)}
}

// failed tells why the log of a container cannot be read.
func (s *session) failed(from source, err error) {
	s.complain(fmt.Sprintf("cannot read the log of container %s in Pod %s/%s, deploy item %s: %v",
		from.container, from.pod.Namespace, from.pod.Name, from.item, from.masks.Error(err)))
}

// merge prints all logs as they are now, in the order of their lines' times.
func (s *session) merge(parent context.Context, all *found) {
	ctx, cancel := context.WithCancel(parent)
	defer cancel()
	sources := all.sources[:min(len(all.sources), maxStreams)]
	if len(sources) < len(all.sources) {
		s.complain(fmt.Sprintf("only the logs of %d of %d containers are shown: name a deploy item to see others", maxStreams, len(all.sources)))
	}
	streams := make([]chan line, len(sources))
	for i, from := range sources {
		streams[i] = make(chan line, 1)
		go func() {
			defer close(streams[i])
			_, err := s.read(ctx, from, time.Time{}, func(l line) error {
				select {
				case streams[i] <- l:
					return nil
				case <-ctx.Done():
					return ctx.Err()
				}
			})
			if err != nil && ctx.Err() == nil {
				s.failed(from, err)
			}
		}()
	}
	events, err := s.eventLines(ctx, all)
	if err != nil {
		s.complain(s.lackOfEvents(err))
	}
	controllers, problems := s.controllerLines(ctx, all)
	s.complain(problems...)
	sources = append(slices.Clip(sources), source{}, source{})
	for next := range inOrder(append(streams, streamOf(events), streamOf(s.options.lastOf(controllers)))) {
		if s.print(sources[next.stream], next.line) != nil {
			break
		}
	}
	for _, from := range all.starting {
		s.note(fmt.Sprintf("%s has not started%s", from.title(), because(from)))
	}
}

// because says why a container has not started.
func because(from source) string {
	if waiting := from.status.State.Waiting; waiting != nil && waiting.Reason != "" {
		return ": " + strings.TrimSuffix(waiting.Reason+": "+waiting.Message, ": ")
	}
	return ""
}

// taken is a line with the number of its stream.
type taken struct {
	stream int
	line   line
}

// inOrder merges streams whose lines are in order. It holds one line of each.
func inOrder(streams []chan line) func(yield func(taken) bool) {
	return func(yield func(taken) bool) {
		heads := map[int]line{}
		for i, stream := range streams {
			if first, more := <-stream; more {
				heads[i] = first
			}
		}
		for len(heads) > 0 {
			earliest := -1
			for i := range streams {
				if head, there := heads[i]; there && (earliest < 0 || head.at.Before(heads[earliest].at)) {
					earliest = i
				}
			}
			if !yield(taken{earliest, heads[earliest]}) {
				return
			}
			if next, more := <-streams[earliest]; more {
				heads[earliest] = next
			} else {
				delete(heads, earliest)
			}
		}
	}
}

// conclude says how the command ends: with an error if something could not be read.
func (s *session) conclude(all *found) error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	access, namespace := s.options.access, s.finder.connection.Namespace
	switch {
	case s.broken != nil:
		return s.broken
	case s.incomplete:
		return &cli.CodedError{Code: cli.ExitError}
	case s.printed > 0:
	case len(all.sources) == 0 && len(all.starting) == 0:
		access.Tell("%s has no pods.", s.options.name)
	case len(all.sources) > 0 && s.options.since == 0 && s.options.tail != 0 && !all.begun.IsZero():
		access.Tell("Nothing was logged since the job started, %s ago. For earlier lines: %s",
			s.printer.Age(all.begun), access.Suggest(namespace, "logs", s.options.name, "--since=24h"))
	}
	return nil
}
