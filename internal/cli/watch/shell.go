// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"

	"espalier.dev/internal/cli/connect"
	"espalier.dev/internal/cli/display"
	"espalier.dev/internal/cli/follow"
	"espalier.dev/internal/cli/job"
	"espalier.dev/internal/cli/request"
	"espalier.dev/internal/cli/why"
	"espalier.dev/internal/objecttree"
	webview "espalier.dev/internal/web/view"
)

// shell runs the state as a program.
type shell struct {
	state state
	do    func(effect) tea.Cmd
}

// Init implements tea.Model.
func (shell) Init() tea.Cmd { return nil }

// Update implements tea.Model.
func (m shell) Update(message tea.Msg) (tea.Model, tea.Cmd) {
	switch typed := message.(type) {
	case tea.KeyPressMsg:
		message = pressed(typed.String())
	case tea.WindowSizeMsg:
		message = resized{typed.Width, typed.Height}
	}
	next, effects := update(m.state, message)
	m.state = next
	var commands []tea.Cmd
	for _, e := range effects {
		commands = append(commands, m.do(e))
	}
	return m, tea.Batch(commands...)
}

// View implements tea.Model.
func (m shell) View() tea.View {
	screen := tea.NewView(view(m.state))
	screen.AltScreen = true
	return screen
}

// worker carries out effects.
type worker struct {
	connect.Connection
	now func() time.Time
}

func (w worker) do(ctx context.Context, e effect) tea.Cmd {
	switch typed := e.(type) {
	case look:
		return func() tea.Msg {
			text, err := w.look(ctx, typed)
			return looked{look: typed, text: text, err: err}
		}
	case ask:
		return func() tea.Msg {
			said, err := w.ask(ctx, typed)
			return asked{said: said, err: err}
		}
	case suspend:
		return tea.Suspend
	}
	return tea.Quit
}

func (w worker) look(ctx context.Context, l look) (content, error) {
	connection := w.Connection
	connection.Namespace = l.about.namespace
	if l.kind == paneWhy {
		return why.Question{Connection: connection, Kind: l.about.kind, Name: l.about.name, Now: w.now()}.Answer(ctx)
	}
	events, err := job.ReadEvents(ctx, w.Access, l.about.namespace)
	if err != nil {
		return nil, w.Access.Explain(err, "list the events", l.about.namespace)
	}
	about := webview.Ref{Kind: string(l.about.kind), Namespace: l.about.namespace, Name: l.about.name}
	return eventList(webview.Scene{Events: events, Now: w.now()}.EventsAbout(about)), nil
}

// requests are the commands that keys stand for.
var requests = map[string]func() request.Command{"reconcile": request.Reconcile, "interrupt": request.Interrupt}

func (w worker) ask(ctx context.Context, a ask) (string, error) {
	connection := w.Connection
	connection.Namespace = a.about.namespace
	return requests[a.verb]().One(ctx, &request.Requester{Connection: connection}, a.about.name)
}

// eventList is the text of the events of an object.
type eventList []webview.Event

// Lines implements content.
func (l eventList) Lines(p display.Printer) []string {
	if len(l) == 0 {
		return []string{"There are no events. Kubernetes keeps them for an hour by default."}
	}
	table := display.Table{Header: []string{"AGE", "EVENT", "MESSAGE"}}
	for _, e := range l {
		reason := display.Clean(e.Reason)
		if e.Count > 1 {
			reason += fmt.Sprintf(" (%d times)", e.Count)
		}
		table.Rows = append(table.Rows, []display.Cell{{Text: p.Age(e.Time)}, {Text: reason}, {Text: display.Clean(e.Message)}})
	}
	return p.Uncut().Align(table)
}

// ticksPerSecond is how many times the screen can be redrawn in a second.
const ticksPerSecond = int(time.Second / follow.Redrawing)

// feed passes on what happens in the cluster until the context ends.
type feed struct {
	events <-chan follow.Event
	now    func() time.Time
	send   func(tea.Msg)

	objects         objecttree.Objects
	synced, changed bool
}

// start runs the feed beside the screen. A panic must not leave the terminal as the screen needs it: it ends the screen, after which check
// panics in its place.
func (f *feed) start(ctx context.Context, endScreen func()) (check func()) {
	panicked := make(chan string, 1)
	go func() {
		defer func() {
			if reason := recover(); reason != nil {
				panicked <- fmt.Sprintf("%v\n\n%s", reason, debug.Stack())
				endScreen()
			}
		}()
		f.run(ctx)
	}()
	return func() {
		select {
		case text := <-panicked:
			panic(text)
		default:
		}
	}
}

func (f *feed) run(ctx context.Context) {
	clock := time.NewTicker(follow.Redrawing)
	defer clock.Stop()
	for ticks := 1; ; {
		select {
		case <-ctx.Done():
			return
		case e := <-f.events:
			f.see(e)
		case <-clock.C:
			if f.synced && f.changed {
				f.changed = false
				f.send(grown{f.objects.Forest()})
			}
			if ticks++; ticks%ticksPerSecond == 0 {
				f.send(ticked(f.now()))
			}
		}
	}
}

func (f *feed) see(e follow.Event) {
	switch {
	case e.Failed != nil:
		f.send(connection{problem: e.Failed.Error(), denied: follow.Refused(e.Failed)})
		return
	case e.Restored:
		f.send(connection{})
		return
	case e.Synced:
		f.synced = true
	case e.Gone:
		f.objects.Remove(e.Object)
	default:
		f.objects.Put(e.Object)
	}
	f.changed = true
}

// messenger is where libraries and requests write what they would write to standard error. While there is a screen, it is told there.
type messenger struct {
	otherwise io.Writer
	mutex     sync.Mutex
	send      func(tea.Msg)
}

// to has the text sent as messages; nil ends that.
func (m *messenger) to(send func(tea.Msg)) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	m.send = send
}

// Write implements io.Writer.
func (m *messenger) Write(text []byte) (int, error) {
	m.mutex.Lock()
	send := m.send
	m.mutex.Unlock()
	if send == nil {
		return m.otherwise.Write(text)
	}
	if told := display.Clean(strings.TrimSpace(string(text))); told != "" {
		send(noted(told))
	}
	return len(text), nil
}

// ended reports whether a program has ended as it should: on request, or because the process is to end.
func ended(ctx context.Context, err error) bool {
	return err == nil || errors.Is(err, tea.ErrInterrupted) || ctx.Err() != nil
}
