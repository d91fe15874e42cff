// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"bytes"
	"encoding/json"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	pipelines "espalier.dev/api/pipelines/v1alpha1"
	"espalier.dev/internal/testkit/share"
)

// life is a whole world that runs: the stored pipeline, a controller that can crash, a Git server, and people and Flux who do their part.
type life struct {
	t *testing.T
	// stored is the pipeline at the API server.
	stored    pipelines.Pipeline
	finalizer bool
	now       time.Time
	targets   map[string]string
	// memory is lost with the process.
	attempts map[AttemptID]Attempt
	queued   map[AttemptID]Effect
	// provider holds the pull requests at the Git server, by branch.
	provider map[string]*PullRequest
	sent     map[string]int
	// fuse is the number of steps until the crash; negative means never.
	fuse    int
	crashes int
	// blind observes only the recorded pull requests.
	blind bool
	// eager attempts finish at once, before the pass that started them ends.
	eager bool
	// bump reports whether the first environment has moved on to another revision when the process restarts.
	bump bool
	// wild lives may have several pull requests for one revision, because it may come back.
	wild bool
	// left holds the pull requests that were left to people, who were notified.
	left map[string]bool
	// lost is an environment that cannot be read. failing reports whether all attempts fail.
	lost    string
	failing bool
}

type crash struct{}

// point is a point where the process may die.
func (l *life) point() {
	if l.fuse == 0 {
		l.fuse = -1
		panic(crash{})
	}
	l.fuse--
}

// alive runs something that may crash, and clears the memory if it does.
func (l *life) alive(run func()) {
	defer func() {
		if problem := recover(); problem != nil {
			if _, expected := problem.(crash); !expected {
				panic(problem)
			}
			l.crashes++
			if l.bump {
				l.targets["a"] = "bumped"
			}
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
		target := at(l.targets[e.Name])
		if e.Name == l.lost {
			target = unseen
		}
		o.Environments = append(o.Environments, Environment{Targets: []Target{target}})
	}
	for _, branch := range slices.Sorted(maps.Keys(l.provider)) {
		if !l.blind || l.recorded(l.provider[branch]) {
			o.PullRequests = append(o.PullRequests, *l.provider[branch])
		}
	}
	return o
}

func (l *life) recorded(request *PullRequest) bool {
	p := l.stored.Status.Environments[request.Environment].Promotion
	return p != nil && p.PullRequest != nil && p.PullRequest.Number == request.Number
}

// pass runs one pass of the loop.
func (l *life) pass() {
	o := l.observe()
	p := l.stored.DeepCopy()
	for range maxPass {
		d := Decide(o)
		if d.SaveFirst {
			l.point()
			l.save(p)
			l.point()
		}
		for _, effect := range d.Do {
			if l.act(effect); l.eager {
				l.work()
			}
			l.point()
		}
		o.Attempts, o.Finalizer = maps.Clone(l.attempts), l.finalizer
		if o = Settle(p, o, d, nil); d.Wait {
			wantAwakeInTime(l.t, o, d)
			l.point()
			l.save(p)
			return
		}
	}
	l.t.Fatal("a pass without end")
}

// save stores the status as text with times in whole seconds, like the API server.
func (l *life) save(p *pipelines.Pipeline) {
	l.stored.Status = pipelines.PipelineStatus{}
	if err := json.Unmarshal(textOf(l.t, p.Status), &l.stored.Status); err != nil {
		l.t.Fatal(err)
	}
}

func textOf(t *testing.T, status pipelines.PipelineStatus) []byte {
	text, err := json.Marshal(status)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func (l *life) act(effect Effect) {
	switch e := effect.(type) {
	case AddFinalizer:
		l.finalizer = true
	case RemoveFinalizer:
		l.finalizer = false
	case Announce:
		for _, n := range e.News {
			if which, found := strings.CutPrefix(n.Message, "pull request "); found && n.Reason == "PullRequestLeftOpen" {
				l.left[strings.Fields(which)[0]] = true
			}
		}
	case Promote:
		before := &scene{t: l.t, Observed: l.observe()}
		if complaint := neverOnMissingData(before, nil, []Effect{e}) + neverWithoutApproval(before, before, []Effect{e}); complaint != "" {
			l.t.Fatal(complaint)
		}
		l.attempts[e.ID], l.queued[e.ID] = Attempt{State: AttemptRunning}, e
	case Withdraw:
		l.attempts[e.ID], l.queued[e.ID] = Attempt{State: AttemptRunning}, e
	}
}

// work performs what was started.
func (l *life) work() {
	for id, effect := range l.queued {
		delete(l.queued, id)
		l.point()
		if l.failing {
			l.attempts[id] = failed(false)
			continue
		}
		result := Result{}
		switch e := effect.(type) {
		case Promote:
			result = l.promote(e)
		case Withdraw:
			if request := l.provider[e.PullRequest.Branch]; request != nil {
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
	if l.provider[e.Branch] == nil {
		l.provider[e.Branch] = &PullRequest{
			Environment: e.ID.Environment, Key: e.ID.Key, Revision: e.Revision, Run: e.Run, Number: int64(len(l.provider) + 1), URL: e.Branch,
			Branch: e.Branch, State: pipelines.PullRequestOpen,
		}
	}
	l.check()
	return Result{PullRequest: *l.provider[e.Branch]}
}

// check verifies the invariants at the Git server.
func (l *life) check() {
	l.t.Helper()
	open, all := map[string]int{}, map[string]int{}
	for _, request := range l.provider {
		if all[request.Environment+request.Revision]++; all[request.Environment+request.Revision] > 1 && !l.wild {
			l.t.Fatalf("two pull requests for revision %s in %s", request.Revision, request.Environment)
		}
		if request.State == pipelines.PullRequestOpen && !l.left[request.URL] {
			if open[request.Environment]++; open[request.Environment] > 1 {
				l.t.Fatalf("two open pull requests in %s", request.Environment)
			}
		}
	}
}

// settle continues until nothing changes any more.
func (l *life) settle() {
	for range 12 {
		l.now = l.now.Add(time.Second)
		l.alive(l.pass)
		l.alive(l.work)
		l.check()
	}
	before := textOf(l.t, l.stored.Status)
	l.now = l.now.Add(100 * time.Millisecond)
	l.alive(l.pass)
	if after := textOf(l.t, l.stored.Status); l.fuse < 0 && l.crashes == 0 && !bytes.Equal(before, after) {
		l.t.Fatalf("a status that nothing has changed for is written:\n%s\n%s", before, after)
	}
}

// merge merges what is open in an environment, and lets Flux deploy it.
func (l *life) merge(environment string) {
	for _, request := range l.provider {
		if request.Environment == environment && request.State == pipelines.PullRequestOpen && !l.left[request.URL] {
			request.State = pipelines.PullRequestMerged
			l.targets[environment] = request.Revision
		}
	}
}

func newLife(t *testing.T, fuse int) *life {
	l := &life{
		t: t, now: noon, targets: map[string]string{"a": "1", "b": "1", "c": "1"}, fuse: fuse, attempts: map[AttemptID]Attempt{},
		queued: map[AttemptID]Effect{}, provider: map[string]*PullRequest{}, sent: map[string]int{}, left: map[string]bool{},
	}
	for _, name := range []string{"a", "b", "c"} {
		l.stored.Spec.Environments = append(l.stored.Spec.Environments, pipelines.Environment{
			Name:    name,
			Targets: []pipelines.Target{{Namespace: "apps"}},
		})
	}
	l.stored.Spec.Promotion = pullRequests()
	return l
}

// walkThrough runs a life with everything in it: a revision under way, another one that supersedes it, and the deletion of the pipeline.
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
	for name, prepare := range map[string]func(*life){
		"everything is listed":      func(*life) {},
		"attempts are faster":       func(l *life) { l.blind, l.eager = true, true },
		"the world goes on, faster": func(l *life) { l.blind, l.eager, l.bump, l.wild = true, true, true, true },
	} {
		t.Run(name, func(t *testing.T) {
			calm := newLife(t, -1)
			prepare(calm)
			walkThrough(calm)
			fuse, cases := 0, share.Of()
			for ; fuse < 400; fuse++ {
				if !cases.Try() {
					continue
				}
				l := newLife(t, fuse)
				prepare(l)
				walkThrough(l)
				if l.crashes == 0 {
					break
				}
				compareWithCalm(t, fuse, l, calm)
			}
			if fuse < 50 || fuse == 400 {
				t.Fatalf("%d places to crash", fuse)
			}
		})
	}
}

// compareWithCalm checks that a life with a crash ends well, and with the same result as one without if the world did not change meanwhile.
func compareWithCalm(t *testing.T, fuse int, l, calm *life) {
	t.Helper()
	for _, request := range l.provider {
		if request.State == pipelines.PullRequestOpen {
			t.Fatalf("crash %d: pull request %s is left open", fuse, request.Branch)
		}
	}
	if l.finalizer {
		t.Fatalf("crash %d: the pipeline does not go", fuse)
	}
	if l.bump {
		return
	}
	for _, environment := range []string{"a", "b", "c"} {
		if l.targets[environment] != calm.targets[environment] {
			t.Fatalf("crash %d: environment %s is at %s, want %s", fuse, environment, l.targets[environment], calm.targets[environment])
		}
	}
	if len(l.provider) != len(calm.provider) {
		t.Fatalf("crash %d: %d pull requests, want %d", fuse, len(l.provider), len(calm.provider))
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

// A pipeline that has lost its status finds its pull requests again, in any state, and opens no others.
func TestStatusThatIsLostIsRebuiltFromPullRequests(t *testing.T) {
	want := map[pipelines.PullRequestState]pipelines.PromotionState{
		pipelines.PullRequestOpen: pipelines.PromotionCreated, pipelines.PullRequestMerged: pipelines.PromotionSucceeded,
		pipelines.PullRequestClosed: pipelines.PromotionAbandoned,
	}
	for _, mode := range []pipelines.Mode{pipelines.ModeSuperseding, pipelines.ModePairwise} {
		for state := range want {
			t.Run(string(mode)+" "+string(state), func(t *testing.T) {
				l := newLife(t, -1)
				l.stored.Spec.Mode = mode
				for _, revision := range []string{"2", "3"} {
					l.targets["a"] = revision
					l.settle()
					l.merge("b")
					l.settle()
				}
				l.targets["a"] = "4"
				l.settle()
				for _, request := range l.provider {
					if request.State == pipelines.PullRequestOpen {
						request.State = state
					}
				}
				into := func() (count int) {
					for _, request := range l.provider {
						if request.Environment == "b" {
							count++
						}
					}
					return count
				}
				before := into()
				l.stored.Status = pipelines.PipelineStatus{ObservedGeneration: -1}
				l.attempts = map[AttemptID]Attempt{}
				l.settle()
				if got := l.stored.Status.Environments["b"].Promotion; got == nil || got.State != want[state] {
					t.Errorf("the promotion is %+v, want %s", got, want[state])
				}
				if got := into(); got != before {
					t.Errorf("%d pull requests, before there were %d", got, before)
				}
			})
		}
	}
}

// If the first environment moved on while the status was lost, the old pull request is closed first.
func TestStatusThatIsLostWhileTheWorldGoesOn(t *testing.T) {
	l := newLife(t, -1)
	l.targets["a"] = "2"
	l.settle()
	l.stored.Status = pipelines.PipelineStatus{ObservedGeneration: -1}
	l.attempts = map[AttemptID]Attempt{}
	l.targets["a"] = "3"
	l.settle()
	open := map[string]bool{}
	for _, request := range l.provider {
		open[request.Revision] = request.State == pipelines.PullRequestOpen
	}
	if open["2"] || !open["3"] {
		t.Errorf("open are %v", open)
	}
}

// chance is a reproducible source of choices.
type chance struct{ *rand.Rand }

func (c chance) of(n int) bool { return c.IntN(n) == 0 }

// strike lets something unexpected happen.
func (l *life) strike(c chance) {
	environments := []string{"a", "b", "c"}
	switch c.IntN(13) {
	case 0, 1:
		l.targets["a"] = string(rune('1' + c.IntN(9)))
	case 2, 3:
		l.merge(environments[1+c.IntN(2)])
	case 4:
		for _, request := range l.provider {
			if request.State == pipelines.PullRequestOpen {
				request.State = pipelines.PullRequestClosed
			}
		}
	case 5:
		l.fuse = c.IntN(10)
	case 6:
		l.stored.Spec.Promotion = strategyChoices[c.IntN(len(strategyChoices))]()
	case 7:
		l.stored.Spec.Suspend = c.of(2)
	case 8:
		l.stored.Spec.Mode = []pipelines.Mode{pipelines.ModeSuperseding, pipelines.ModePairwise}[c.IntN(2)]
	case 9:
		l.lost = environments[c.IntN(3)]
	case 10:
		l.lost = ""
	case 11:
		l.failing = c.of(2)
	case 12:
		if c.of(3) {
			l.stored.Status = pipelines.PipelineStatus{ObservedGeneration: -1}
		}
	}
	l.approveSome(c)
	l.now = l.now.Add(time.Duration(c.IntN(3600)) * time.Second)
}

// approveSome decides on promotions that wait.
func (l *life) approveSome(c chance) {
	for name, e := range l.stored.Status.Environments {
		if p := e.Promotion; p != nil && c.of(2) {
			ask := Ask{Environment: name, Revision: p.Revision, Time: l.now}
			_, _ = []func(*pipelines.Pipeline, Ask) (Answer, error){Approve, Reject, PromoteNow, Retry}[c.IntN(4)](&l.stored, ask)
		}
	}
}

// Whatever happens, no two pull requests are open for one environment, only revisions that were seen healthy are promoted, passes end, and
// once everybody does their part again, the newest revision reaches all environments.
func TestPIP20_NothingThatHappensDoesHarm(t *testing.T) {
	cases := share.Of()
	for seed := range uint64(150) {
		if !cases.Try() {
			continue
		}
		c := chance{rand.New(rand.NewPCG(seed, 7))}
		l := newLife(t, -1)
		l.wild = true
		for range 25 {
			l.strike(c)
			for range 3 {
				l.alive(l.pass)
				l.alive(l.work)
				l.check()
			}
		}
		l.recover()
		for _, environment := range []string{"b", "c"} {
			if l.targets[environment] != l.targets["a"] {
				t.Fatalf("seed %d: environment %s stays at %s, a is at %s: %+v\n%+v", seed, environment, l.targets[environment], l.targets["a"],
					l.stored.Status.Holds, l.stored.Status.Environments[environment].Promotion)
			}
		}
	}
}

// recover ends all disturbances, sets a revision that was never used before, and does what people must do.
func (l *life) recover() {
	l.fuse, l.lost, l.failing, l.stored.Spec.Suspend = -1, "", false, false
	l.stored.Spec.Promotion = pullRequests()
	l.targets["a"] = "last"
	for range 12 {
		l.now = l.now.Add(time.Hour)
		l.alive(l.pass)
		l.alive(l.work)
		l.check()
		l.merge("b")
		l.merge("c")
	}
}
