// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package follow

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/cli"
	"espalier.dev/internal/cli/connect"
	"espalier.dev/internal/cli/display"
	"espalier.dev/internal/explain"
	"espalier.dev/internal/objecttree"
)

// Awaited is an installation and what is waited for.
type Awaited struct {
	Name string
	Goal Goal
}

// Wait is one use of a command that waits.
type Wait struct {
	Env       cli.Environment
	Access    *connect.Access
	Namespace string
	Awaited   []Awaited
	// Timeout ends the wait; 0 means no limit.
	Timeout time.Duration
	Format  display.Format
}

const (
	// Redrawing is how often a screen changes at most.
	Redrawing = 100 * time.Millisecond
	// idleDraws is after how many of these times it is drawn although nothing has changed: ages grow.
	idleDraws = 10
)

var (
	errTimeout  = errors.New("the time is up")
	errDetached = errors.New("the user has enough")
)

// Run waits until all goals are reached or missed, the time is up, or the user presses Ctrl-C. It prints how each wait
// ended. The error it returns carries the exit code.
func (w Wait) Run(parent context.Context) error {
	ctx, stop := w.Env.UntilInterrupted(parent)
	defer stop()
	w.Env.SilenceLogs() // controller-runtime complains otherwise; what matters comes as an event
	r := &waiting{Wait: w, objects: &objecttree.Objects{}, ends: map[string]*End{}, screen: newScreen(w)}
	err := r.follow(ctx)
	stop() // A second Ctrl-C ends the process at once.
	if !errors.Is(err, errDetached) {
		r.readAgain(parent)
	}
	r.screen.finish(r.objects.Forest())
	switch {
	case errors.Is(err, errDetached):
		return r.detached()
	case errors.Is(err, errTimeout):
		return r.conclude()
	case err != nil:
		return w.Access.Explain(err, "follow the installations", w.Namespace)
	}
	return r.conclude()
}

// waiting is the state of a Wait.
type waiting struct {
	Wait
	objects *objecttree.Objects
	synced  bool
	// changed is set by every event, and idle counts how often nothing was drawn since the last.
	changed bool
	idle    int
	ends    map[string]*End
	screen  screen
	// judges is set once the objects were read as a whole. Those of the stream lack what it needs.
	controllers *explain.Controllers
	// outdated is why the objects could not be read at the end.
	outdated error
}

func (r *waiting) follow(parent context.Context) error {
	ctx, cancel := context.WithCancel(parent)
	defer cancel()
	config, err := r.Access.Config()
	if err != nil {
		return err
	}
	events, err := Stream(ctx, config, r.Namespace)
	if err != nil {
		return err
	}
	var timeout <-chan time.Time
	if r.Timeout > 0 {
		timer := time.NewTimer(r.Timeout)
		defer timer.Stop()
		timeout = timer.C
	}
	redraw := time.NewTicker(Redrawing)
	defer redraw.Stop()
	for len(r.ends) < len(r.Awaited) {
		select {
		case e := <-events:
			if err := r.see(e); err != nil {
				return err
			}
		case <-redraw.C:
			r.draw()
		case <-timeout:
			return errTimeout
		case <-parent.Done():
			return errDetached
		}
	}
	return nil
}

// see takes in an event. It returns an error if watching has no future.
func (r *waiting) see(e Event) error {
	r.changed = true
	switch {
	case e.Failed != nil && Refused(e.Failed):
		return e.Failed
	case e.Failed != nil:
		r.screen.note("connection lost, retrying: " + display.Clean(e.Failed.Error()))
	case e.Restored:
		r.screen.note("")
	case e.Synced:
		r.synced = true
		r.judgeAll()
	case e.Gone:
		r.objects.Remove(e.Object)
		r.seeInstallation(e.Object.GetName(), e.Object, nil)
	default:
		r.objects.Put(e.Object)
		installation, _ := e.Object.(*lsv1alpha1.Installation)
		r.seeInstallation(e.Object.GetName(), e.Object, installation)
	}
	return nil
}

func (r *waiting) seeInstallation(name string, object any, revision *lsv1alpha1.Installation) {
	if _, ok := object.(*lsv1alpha1.Installation); !ok {
		return
	}
	if i := slices.IndexFunc(r.Awaited, func(a Awaited) bool { return a.Name == name }); i >= 0 {
		r.judge(r.Awaited[i], revision)
	}
}

// judge asks the goal of an installation, until it has answered once.
func (r *waiting) judge(a Awaited, revision *lsv1alpha1.Installation) {
	if r.ends[a.Name] != nil {
		return
	}
	if end := a.Goal.See(revision); end != nil {
		r.ends[a.Name] = end
	}
}

func (r *waiting) judgeAll() {
	for _, a := range r.Awaited {
		r.judge(a, r.installation(a.Name))
	}
}

func (r *waiting) installation(name string) *lsv1alpha1.Installation {
	node := r.objects.Forest().Installation(r.Namespace, name)
	if node == nil {
		return nil
	}
	installation, _ := node.Installation()
	return installation
}

// draw shows the state of things once all of it is known: half a tree would be wrong.
func (r *waiting) draw() {
	r.idle++
	if r.synced && (r.changed || r.idle >= idleDraws) {
		r.changed, r.idle = false, 0
		r.screen.draw(r.objects.Forest())
	}
}

// readAgain brings all kinds to the same state, because events of different kinds are not ordered. The picture stays as
// it is if that fails: the wait itself has its answer.
func (r *waiting) readAgain(ctx context.Context) {
	c, err := r.Access.Client()
	if err != nil {
		r.outdated = err
		return
	}
	objects, err := objecttree.Read(ctx, c, r.Namespace)
	if err != nil {
		r.outdated = err
		return
	}
	r.objects = objects
	r.controllers = explain.Read(ctx, c, r.Namespace, r.Env.Now())
}

// detached tells the user how to come back.
func (r *waiting) detached() error {
	fmt.Fprintln(r.Env.ErrOut, "Detached; the work continues. To follow it again:")
	for _, again := range r.again() {
		fmt.Fprintln(r.Env.ErrOut, "  "+again)
	}
	return &cli.CodedError{Code: cli.ExitDetached}
}

// again returns the commands that wait for what has not ended.
func (r *waiting) again() []string {
	var order []string
	names := map[string][]string{}
	for _, a := range r.Awaited {
		if r.ends[a.Name] != nil {
			continue
		}
		flags := a.Goal.WaitFlags()
		if _, known := names[flags[0]]; !known {
			order = append(order, flags[0])
		}
		names[flags[0]] = append(names[flags[0]], a.Name)
	}
	var commands []string
	for _, flag := range order {
		arguments := append([]string{"wait"}, names[flag]...)
		commands = append(commands, r.Access.Suggest(r.Namespace, append(arguments, flag)...))
	}
	return commands
}
