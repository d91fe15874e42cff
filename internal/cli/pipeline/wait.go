// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	pipelines "espalier.dev/api/pipelines/v1alpha1"
	"espalier.dev/internal/cli"
	"espalier.dev/internal/cli/connect"
	"espalier.dev/internal/cli/display"
	"espalier.dev/internal/cli/follow"
	"espalier.dev/internal/cli/promotion"
	"espalier.dev/internal/pipeline"
)

// Wait waits for pipelines by watching them. It starts nothing.
type Wait struct {
	Env    cli.Environment
	Access *connect.Access
	Names  []string
	Awaited
	// Timeout ends the wait; 0 means no limit.
	Timeout time.Duration
	Format  display.Format
}

// outcome is what programs learn about one wait.
type outcome struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// ExitCode is what the command would have ended with if there had been no other wait.
	ExitCode int    `json:"exitCode"`
	Verdict  string `json:"verdict"`
	// Causes are the holds because of which the goal is not reached.
	Causes []pipelines.Hold `json:"causes,omitempty"`
	// Reference is the place in the documentation that explains the first cause.
	Reference string `json:"reference,omitempty"`
}

var (
	errTimeout  = errors.New("the wait has timed out")
	errDetached = errors.New("the user has interrupted the wait")
)

// following is the state of a Wait.
type following struct {
	Wait
	connection connect.Connection
	candidates []*candidate
	// said is what was last printed about each pipeline.
	said map[string]string
	lost bool
}

// Run waits until all pipelines have reached the goal or missed it, the time is up, or the user presses Ctrl-C. It prints how each wait
// ended. The error it returns carries the exit code.
func (w Wait) Run(parent context.Context) error {
	connection, err := w.Access.Connect()
	if err != nil {
		return err
	}
	r := &following{Wait: w, connection: connection, said: map[string]string{}}
	if err := r.read(parent); err != nil {
		return err
	}
	ctx, stop := w.Env.UntilInterrupted(parent)
	defer stop()
	w.Env.SilenceLogs() // What matters comes as an event.
	switch err := r.follow(ctx); {
	case errors.Is(err, errDetached):
		return r.detached()
	case err != nil && !errors.Is(err, errTimeout):
		return w.Access.Explain(err, "follow the pipelines", connection.Namespace)
	}
	return r.conclude()
}

// read judges the pipelines as they are at the beginning. One that is absent may be gone already if its deletion is awaited.
func (r *following) read(ctx context.Context) error {
	for _, name := range r.Names {
		p, err := r.Access.ReadPipeline(ctx, r.connection.Client, r.connection.Namespace, name)
		var problem *cli.Problem
		if errors.As(err, &problem) && r.Goal == goalDeleted && apierrors.IsNotFound(problem.Cause) {
			p, err = nil, nil
		}
		if err != nil {
			return err
		}
		c := &candidate{Awaited: r.Awaited, name: name}
		r.candidates = append(r.candidates, c)
		r.see(c, p)
	}
	return nil
}

// see judges a revision of a pipeline, nil if it does not exist, and tells what the pipeline waits for if that has changed.
func (r *following) see(c *candidate, p *pipelines.Pipeline) {
	if c.see(p, r.Env.Now()); c.end != nil {
		return
	}
	if text := r.reason(c); r.said[c.name] != text {
		r.said[c.name] = text
		r.tell("Pipeline/" + c.name + ": " + text)
	}
}

func (r *following) tell(text string) {
	r.Access.Tell("%s %s", r.Env.Now().UTC().Format(time.RFC3339), display.Clean(text))
}

func (r *following) explain(c *candidate) explanation {
	return explanationOf(subject{Pipeline: c.last}, r.Env.Now(), r.Access)
}

// cause is the line of the explanation that keeps the goal from being reached: a failure, else the first hold; false if there is none.
func (r *following) cause(c *candidate) (pipeline.Explanation, bool) {
	v := viewOf(c.last, r.Env.Now())
	holds := c.holds(v)
	if failure := c.broken(v); failure != nil {
		holds = []pipelines.Hold{*failure}
	}
	for _, line := range r.explain(c).lines {
		if len(holds) > 0 && line.Environment == holds[0].Environment && line.Reason == holds[0].Reason {
			return line, true
		}
	}
	return pipeline.Explanation{}, false
}

// reason says what the pipeline waits for in the words of the command why.
func (r *following) reason(c *candidate) string {
	explained := r.explain(c)
	cause, held := r.cause(c)
	if !held {
		cause, held = explained.cause()
	}
	switch {
	case c.last.Status.ObservedGeneration != c.last.Generation:
		return "the controllers have not processed the current spec"
	case held:
		return waits(cause)
	}
	return explained.progress()
}

func (r *following) pending() []*candidate {
	return slices.DeleteFunc(slices.Clone(r.candidates), func(c *candidate) bool { return c.end != nil })
}

func (r *following) follow(parent context.Context) error {
	if len(r.pending()) == 0 {
		return nil
	}
	ctx, cancel := context.WithCancel(parent)
	defer cancel()
	config, err := r.Access.Config()
	if err != nil {
		return err
	}
	events, err := follow.StreamOf(ctx, config, r.connection.Namespace, &pipelines.Pipeline{})
	if err != nil {
		return err
	}
	var timeout <-chan time.Time
	if r.Timeout > 0 {
		timer := time.NewTimer(r.Timeout)
		defer timer.Stop()
		timeout = timer.C
	}
	listed := map[string]bool{}
	for len(r.pending()) > 0 {
		select {
		case e := <-events:
			if err := r.take(e, listed); err != nil {
				return err
			}
		case <-timeout:
			return errTimeout
		case <-parent.Done():
			return errDetached
		}
	}
	return nil
}

// take takes in an event. It returns an error if watching has no future.
func (r *following) take(e follow.Event, listed map[string]bool) error {
	switch {
	case e.Failed != nil && follow.Refused(e.Failed):
		return e.Failed
	case e.Failed != nil && !r.lost: // Each attempt may fail in words of its own.
		r.lost = true
		r.tell("connection lost, retrying: " + e.Failed.Error())
	case e.Restored:
		r.lost = false
		r.tell("the connection is back")
	case e.Synced:
		for _, c := range r.pending() {
			if !listed[c.name] {
				r.see(c, nil) // deleted between the first look and the list
			}
		}
	case e.Object != nil:
		r.takeObject(e, listed)
	}
	return nil
}

func (r *following) takeObject(e follow.Event, listed map[string]bool) {
	listed[e.Object.GetName()] = true
	p, _ := e.Object.(*pipelines.Pipeline)
	if e.Gone {
		p = nil
	}
	for _, c := range r.pending() {
		if c.name == e.Object.GetName() {
			r.see(c, p)
		}
	}
}

// detached tells the user how to come back.
func (r *following) detached() error {
	r.Access.Tell("Detached; the pipeline continues. To follow it again:\n  %s", r.again())
	return &cli.CodedError{Code: cli.ExitDetached}
}

// again is the command that waits for what has not ended.
func (r *following) again() string {
	arguments := []string{"wait"}
	for _, c := range r.pending() {
		arguments = append(arguments, "pipeline/"+c.name)
	}
	return r.Access.Suggest(r.connection.Namespace, append(arguments, r.flags()...)...)
}

// conclude prints how each wait ended and returns the error that the command ends with.
func (r *following) conclude() error {
	var all struct {
		Results []outcome `json:"results"`
	}
	var problems []*cli.Problem
	var lines []string
	for _, c := range r.candidates {
		end := c.end
		if end == nil {
			end = r.timedOut(c)
		}
		o := outcome{Namespace: r.connection.Namespace, Name: c.name, ExitCode: end.code, Verdict: end.verdict}
		if end.code != cli.ExitOK {
			problem := r.problem(c, end)
			if c.last != nil {
				o.Causes, o.Reference = c.holds(viewOf(c.last, r.Env.Now())), problem.See
			}
			problems = append(problems, problem)
		} else if r.Format == display.FormatName {
			lines = append(lines, promotion.ResourceName(c.name))
		} else {
			lines = append(lines, display.Clean(fmt.Sprintf("pipeline %s %s", c.name, end.verdict)))
		}
		all.Results = append(all.Results, o)
	}
	printer := display.To(r.Env, r.Env.Out)
	err := printer.Lines(lines...)
	if r.Format.IsData() {
		err = printer.Data(all, r.Format)
	}
	if err != nil {
		return err
	}
	return cli.Together(problems, nil)
}

// timedOut judges a wait that had no other end. It says so if a user must act.
func (r *following) timedOut(c *candidate) *ending {
	v := viewOf(c.last, r.Env.Now())
	end := &ending{cli.ExitTimeout, fmt.Sprintf("%s after %s", c.missed(v), r.Timeout)}
	if slices.ContainsFunc(c.holds(v), func(h pipelines.Hold) bool { return slices.Contains(needsSomebody, h.Reason) }) {
		end.code = cli.ExitNeedsSomebody
		end.verdict += "; needs action by a user"
	}
	return end
}

func (r *following) problem(c *candidate, end *ending) *cli.Problem {
	namespace := r.connection.Namespace
	problem := &cli.Problem{
		Code: end.code, What: display.Clean(fmt.Sprintf("pipeline %s %s", c.name, end.verdict)), Where: r.Access.Where(namespace),
	}
	switch {
	case c.last == nil:
		problem.Next = []string{r.Access.Suggest(namespace, "pipeline", "get")}
		return problem
	case end.code == cli.ExitNotFound:
		problem.Next = []string{r.Access.Suggest(namespace, "pipeline", "status", c.name)}
		return problem
	}
	problem.What += ": " + display.Clean(r.reason(c))
	explained := r.explain(c)
	if cause, held := r.cause(c); held {
		problem.Reason, problem.See = string(cause.Reason), explained.reference(cause)
		if end.code == cli.ExitNeedsSomebody {
			problem.Next = explained.commands(cause)
		}
	}
	problem.Next = append(problem.Next, r.Access.Suggest(namespace, "pipeline", "why", c.name))
	if c.end == nil {
		problem.Next = append(problem.Next, r.again())
	}
	return problem
}
