// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"maps"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	pipelines "espalier.dev/api/pipelines/v1alpha1"
)

// life is a whole world that goes on: the stored pipeline, a controller that can crash, a Git server, and people and Flux who do
// their part.
type life struct {
	t *testing.T
	// stored is what the API server has.
	stored    pipelines.Pipeline
	finalizer bool
	now       time.Time
	targets   map[string]string
	// memory is lost with the process.
	attempts map[AttemptID]Attempt
	queued   map[AttemptID]Effect
	// requests at the Git server, by branch.
	forge map[string]*PullRequest
	sent  map[string]int
	// steps until the crash; never if it is negative.
	fuse    int
	crashes int
	// blind looks at the pull requests that are recorded, and at no others.
	blind bool
}

type crash struct{}

// point is where the process may die.
func (l *life) point() {
	if l.fuse == 0 {
		l.fuse = -1
		panic(crash{})
	}
	l.fuse--
}

// alive runs something that may crash, and loses the memory if it does.
func (l *life) alive(run func()) {
	defer func() {
		if problem := recover(); problem != nil {
			if _, expected := problem.(crash); !expected {
				panic(problem)
			}
			l.crashes++
			l.attempts, l.queued = map[AttemptID]Attempt{}, map[AttemptID]Effect{}
		}
	}()
	run()
}

func (l *life) observe() Observed {
	o := Observed{
		Now: l.now, Namespace: "team", Name: "app", Generation: 1, Spec: l.stored.Spec, Status: *l.stored.Status.DeepCopy(),
		Deleted: l.stored.DeletionTimestamp != nil, Finalizer: l.finalizer, Attempts: maps.Clone(l.attempts),
	}
	for _, e := range l.stored.Spec.Environments {
		o.Environments = append(o.Environments, Environment{Targets: []Target{at(l.targets[e.Name])}})
	}
	for _, branch := range slices.Sorted(maps.Keys(l.forge)) {
		if !l.blind || l.recorded(l.forge[branch]) {
			o.PullRequests = append(o.PullRequests, *l.forge[branch])
		}
	}
	return o
}

func (l *life) recorded(request *PullRequest) bool {
	p := l.stored.Status.Environments[request.Environment].Promotion
	return p != nil && p.PullRequest != nil && p.PullRequest.Number == request.Number
}

// pass is one pass of the loop.
func (l *life) pass() {
	o := l.observe()
	p := l.stored.DeepCopy()
	for range maxPass {
		d := Decide(o)
		if d.SaveFirst {
			l.point()
			l.stored.Status = *p.Status.DeepCopy()
			l.point()
		}
		for _, effect := range d.Do {
			l.act(effect)
			l.point()
		}
		o.Attempts, o.Finalizer = maps.Clone(l.attempts), l.finalizer
		if o = Settle(p, o, d, nil); d.Wait {
			l.point()
			l.stored.Status = *p.Status.DeepCopy()
			return
		}
	}
	l.t.Fatal("a pass without end")
}

func (l *life) act(effect Effect) {
	switch e := effect.(type) {
	case AddFinalizer:
		l.finalizer = true
	case RemoveFinalizer:
		l.finalizer = false
	case Promote:
		l.attempts[e.ID], l.queued[e.ID] = Attempt{State: AttemptRunning}, e
	case Withdraw:
		l.attempts[e.ID], l.queued[e.ID] = Attempt{State: AttemptRunning}, e
	}
}

// work does what was started.
func (l *life) work() {
	for id, effect := range l.queued {
		delete(l.queued, id)
		l.point()
		result := Result{}
		switch e := effect.(type) {
		case Promote:
			result = l.promote(e)
		case Withdraw:
			if request := l.forge[e.PullRequest.Branch]; request != nil {
				if request.State == pipelines.PullRequestOpen {
					request.State = pipelines.PullRequestClosed
				}
				result.PullRequest = *request
			}
		}
		l.point()
		l.attempts[id] = Attempt{State: AttemptDone, Result: result}
	}
}

func (l *life) promote(e Promote) Result {
	if e.Strategy.PullRequest == nil {
		l.sent[e.ID.Key]++
		l.targets[e.ID.Environment] = e.Revision
		return Result{}
	}
	if l.forge[e.Branch] == nil {
		l.forge[e.Branch] = &PullRequest{
			Environment: e.ID.Environment, Key: e.ID.Key, Revision: e.Revision, Run: e.Run, Number: int64(len(l.forge) + 1), URL: e.Branch,
			Branch: e.Branch, State: pipelines.PullRequestOpen,
		}
	}
	l.check()
	return Result{PullRequest: *l.forge[e.Branch]}
}

// check holds what must never be otherwise at the Git server.
func (l *life) check() {
	l.t.Helper()
	open, all := map[string]int{}, map[string]int{}
	for _, request := range l.forge {
		if all[request.Environment+request.Revision]++; all[request.Environment+request.Revision] > 1 {
			l.t.Fatalf("two pull requests for revision %s in %s", request.Revision, request.Environment)
		}
		if request.State == pipelines.PullRequestOpen {
			if open[request.Environment]++; open[request.Environment] > 1 {
				l.t.Fatalf("two open pull requests in %s", request.Environment)
			}
		}
	}
}

// settle goes on until nothing changes any more.
func (l *life) settle() {
	for range 12 {
		l.now = l.now.Add(time.Second)
		l.alive(l.pass)
		l.alive(l.work)
		l.check()
	}
}

// merge has people merge what is open in an environment, and Flux deploy it.
func (l *life) merge(environment string) {
	for _, request := range l.forge {
		if request.Environment == environment && request.State == pipelines.PullRequestOpen {
			request.State = pipelines.PullRequestMerged
			l.targets[environment] = request.Revision
		}
	}
}

func newLife(t *testing.T, fuse int) *life {
	l := &life{
		t: t, now: noon, targets: map[string]string{"a": "1", "b": "1", "c": "1"}, fuse: fuse, attempts: map[AttemptID]Attempt{},
		queued: map[AttemptID]Effect{}, forge: map[string]*PullRequest{}, sent: map[string]int{},
	}
	for _, name := range []string{"a", "b", "c"} {
		l.stored.Spec.Environments = append(l.stored.Spec.Environments, pipelines.Environment{Name: name, Targets: []pipelines.Target{{Namespace: "apps"}}})
	}
	l.stored.Spec.Promotion = pullRequests()
	return l
}

// walkThrough is a life with everything in it: a revision on its way, another one that takes over, and the end of the pipeline.
func walkThrough(l *life) {
	l.settle()
	l.targets["a"] = "2"
	l.settle()
	l.merge("b")
	l.settle()
	l.targets["a"] = "3"
	l.settle()
	l.merge("b")
	l.settle()
	l.merge("c")
	l.settle()
	l.targets["a"] = "4"
	l.settle()
	deleted := metav1.NewTime(l.now)
	l.stored.DeletionTimestamp = &deleted
	l.settle()
}

func TestPIP20_CrashBetweenAnyTwoStepsDoesNoHarm(t *testing.T) {
	for _, blind := range []bool{false, true} {
		calm := newLife(t, -1)
		calm.blind = blind
		walkThrough(calm)
		fuse := 0
		for ; fuse < 400; fuse++ {
			l := newLife(t, fuse)
			l.blind = blind
			walkThrough(l)
			if l.crashes == 0 {
				break
			}
			compareLives(t, fuse, l, calm)
		}
		if fuse < 50 || fuse == 400 {
			t.Fatalf("%d places to crash", fuse)
		}
	}
}

// compareLives checks that a life with a crash has come to the same end as one without.
func compareLives(t *testing.T, fuse int, l, calm *life) {
	t.Helper()
	for _, environment := range []string{"a", "b", "c"} {
		if l.targets[environment] != calm.targets[environment] {
			t.Fatalf("crash %d: environment %s is at %s, want %s", fuse, environment, l.targets[environment], calm.targets[environment])
		}
	}
	for _, request := range l.forge {
		if request.State == pipelines.PullRequestOpen {
			t.Fatalf("crash %d: pull request %s is left open", fuse, request.Branch)
		}
	}
	if l.finalizer {
		t.Fatalf("crash %d: the pipeline does not go", fuse)
	}
	if len(l.forge) != len(calm.forge) {
		t.Fatalf("crash %d: %d pull requests, want %d", fuse, len(l.forge), len(calm.forge))
	}
}

func TestPIP21_NotificationsAreSentOnceUnlessACrashHidesIt(t *testing.T) {
	for fuse := -1; fuse < 60; fuse++ {
		l := newLife(t, fuse)
		l.stored.Spec.Promotion = notifications()
		l.settle()
		l.targets["a"] = "2"
		l.settle()
		for key, count := range l.sent {
			if count > 1+l.crashes {
				t.Fatalf("crash %d: promotion %s was sent %d times", fuse, key, count)
			}
		}
		if l.targets["c"] != "2" || len(l.sent) != 2 {
			t.Fatalf("crash %d: targets %v, sent %v", fuse, l.targets, l.sent)
		}
	}
}

// A pipeline whose status is lost finds its pull requests again, whatever has become of them.
func TestStatusThatIsLostIsRebuiltFromPullRequests(t *testing.T) {
	for _, state := range []pipelines.PullRequestState{pipelines.PullRequestOpen, pipelines.PullRequestMerged, pipelines.PullRequestClosed} {
		t.Run(string(state), func(t *testing.T) {
			l := newLife(t, -1)
			l.settle()
			l.targets["a"] = "2"
			l.settle()
			for _, request := range l.forge {
				request.State = state
			}
			before := l.stored.Status.Run.Number
			l.stored.Status = pipelines.PipelineStatus{ObservedGeneration: -1}
			l.attempts = map[AttemptID]Attempt{}
			l.settle()
			want := map[pipelines.PullRequestState]pipelines.PromotionState{
				pipelines.PullRequestOpen: pipelines.PromotionCreated, pipelines.PullRequestMerged: pipelines.PromotionSucceeded,
				pipelines.PullRequestClosed: pipelines.PromotionAbandoned,
			}[state]
			if got := l.stored.Status.Environments["b"].Promotion; got == nil || got.State != want {
				t.Errorf("the promotion is %+v, want %s", got, want)
			}
			if len(l.forge) != 1 || l.stored.Status.Run.Number != before {
				t.Errorf("%d pull requests, run %d, want one and run %d", len(l.forge), l.stored.Status.Run.Number, before)
			}
		})
	}
}
