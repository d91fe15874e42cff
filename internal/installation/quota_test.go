// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package installation_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/failure"
	"espalier.dev/internal/installation"
)

func TestANamespaceMayHaveItsOwnQuotas(t *testing.T) {
	flags := installation.Limits{Installations: 1, DeployItems: 2, RenderedBytes: 3 << 10, ConcurrentJobs: 4}
	for annotation, c := range map[string]struct {
		value   string
		change  func(*installation.Limits)
		problem string
	}{
		"quota.espalier.dev/installations":     {value: "50", change: func(l *installation.Limits) { l.Installations = 50 }},
		"quota.espalier.dev/deploy-items":      {value: "unlimited", change: func(l *installation.Limits) { l.DeployItems = 0 }},
		"quota.espalier.dev/rendered-bytes":    {value: "64Mi", change: func(l *installation.Limits) { l.RenderedBytes = 64 << 20 }},
		"quota.espalier.dev/concurrent-jobs":   {value: "9", change: func(l *installation.Limits) { l.ConcurrentJobs = 9 }},
		"quota.espalier.dev/installation":      {value: "50", problem: "valid quotas are installations, deploy-items, rendered-bytes, concurrent"},
		"quota.espalier.dev/jobs":              {value: "50", problem: "annotation quota.espalier.dev/jobs of namespace shop has no effect"},
		"example.com/installations":            {value: "50"},
		"quota.espalier.dev.evil/deploy-items": {value: "50"},
	} {
		want := flags
		if c.change != nil {
			c.change(&want)
		}
		got, problems := flags.Overridden("shop", map[string]string{annotation: c.value})
		if got != want || (c.problem == "") != (len(problems) == 0) || !strings.Contains(strings.Join(problems, ""), c.problem) {
			t.Errorf("%s=%s: %+v, %q", annotation, c.value, got, problems)
		}
	}
}

func TestATypoInAQuotaIsToldAndHasNoEffect(t *testing.T) {
	for _, value := range []string{"", "0", "-1", "5O", "1.5", "1e3", " 5", "Unlimited", "99999999999999999999", strings.Repeat("9", 300)} {
		for name, told := range map[string]string{"installations": "7", "deploy-items": "unlimited", "concurrent-jobs": "8"} {
			flags := installation.Limits{Installations: 7, ConcurrentJobs: 8}
			got, problems := flags.Overridden("shop", map[string]string{installation.QuotaAnnotations + name: value})
			if got != flags || len(problems) != 1 || len(problems[0]) > 300 ||
				!strings.Contains(problems[0], "so the quota is "+told+": use a number of at least 1, or unlimited") {
				t.Errorf("%s=%q: %+v, %q", name, value, got, problems)
			}
		}
	}
	for _, value := range []string{"0", "-1Mi", "64MB!", "much"} {
		flags := installation.Limits{RenderedBytes: 2 << 20}
		got, problems := flags.Overridden("shop", map[string]string{installation.QuotaAnnotations + "rendered-bytes": value})
		if got != flags || len(problems) != 1 || !strings.Contains(problems[0], "so the quota is 2Mi: use a number of bytes") {
			t.Errorf("rendered-bytes=%q: %+v, %q", value, got, problems)
		}
	}
}

// everyQueue calls each with all jobs that up to four roots of a namespace can have, and all limits that make a difference.
func everyQueue(each func(limit int64, jobs []installation.RootJob)) {
	var add func(jobs []installation.RootJob)
	add = func(jobs []installation.RootJob) {
		for limit := range int64(5) {
			each(limit, jobs)
		}
		if len(jobs) == 4 {
			return
		}
		for _, stage := range []installation.JobStage{installation.JobPreparing, installation.JobQueued, installation.JobBegun} {
			for second := range 3 {
				add(append(slices.Clone(jobs), installation.RootJob{
					Name: string(rune('d' - len(jobs))), ID: "job", Stage: stage, Requested: noon.Add(time.Duration(second) * time.Second),
				}))
			}
		}
	}
	add(nil)
}

func TestJobsBeginInTheOrderOfTheirRequestsAndNeverTooMany(t *testing.T) {
	seen := 0
	everyQueue(func(limit int64, jobs []installation.RootJob) {
		seen++
		running, queued := int64(0), 0
		var open []string
		for _, job := range jobs {
			switch job.Stage {
			case installation.JobBegun:
				running++
			case installation.JobQueued:
				if queued++; installation.TurnOf("n", limit, job, jobs).Open() {
					open = append(open, job.Name)
				}
			}
		}
		next := installation.NextJobs(limit, jobs)
		describe := fmt.Sprintf("limit %d, jobs %+v: %q may begin", limit, jobs, next)
		if sorted := slices.Sorted(slices.Values(next)); !slices.Equal(sorted, slices.Sorted(slices.Values(open))) {
			t.Errorf("%s, and by themselves %q", describe, open)
		}
		if limit > 0 && len(next) > 0 && running+int64(len(next)) > limit {
			t.Error(describe + ": too many")
		}
		if want := min(queued, max(0, int(limit-running))); limit > 0 && len(next) != want || limit == 0 && len(next) != queued {
			t.Error(describe + ": a place stays free")
		}
		for _, job := range jobs {
			for _, other := range jobs {
				if slices.Contains(next, other.Name) && job.Stage == installation.JobQueued && job.Requested.Before(other.Requested) &&
					!slices.Contains(next, job.Name) {
					t.Errorf("%s, and %s was requested before %s", describe, job.Name, other.Name)
				}
			}
		}
	})
	if seen < 30_000 {
		t.Errorf("only %d queues were tried", seen)
	}
}

// A quota does not keep a waiting job from ending: a job is interrupted, deleted or rejected whether or not it is its turn, and jobs that
// delete and jobs of nested installations need no turn.
func TestAQuotaHoldsUpNothingButTheBeginningOfAJob(t *testing.T) {
	closed := installation.Turn{Namespace: "n", Limit: 2, Running: 2}
	differ := 0
	everything(func(o installation.Observed) {
		free := installation.Decide(o)
		o.Limits.ConcurrentJobs, o.Turn = 2, &closed
		held := installation.Decide(o)
		if free.Next == held.Next && free.Wait == held.Wait && free.Why == held.Why && len(free.Do) == len(held.Do) {
			return
		}
		differ++
		if !does[installation.Prepare](free) || o.Phase != lsv1alpha1.PhaseInit || o.Deleting || o.DeletionAsked || o.Interrupt {
			t.Errorf("a quota changes %+v to %+v\nfor %+v", free, held, o)
		}
		if !held.Wait || held.Next != "" || len(held.Do) > 0 || held.Why.Code != lsv1alpha1.ReasonWaitingForJobs || held.RequeueAfter <= 0 ||
			held.Why.Message != "Waiting for 2 other jobs in namespace n: quota of concurrent jobs is 2" {
			t.Errorf("%+v for %+v", held, o)
		}
	})
	if differ == 0 {
		t.Error("nothing was held up")
	}
}

func TestATurnIsAskedForOnlyIfThereIsAQuota(t *testing.T) {
	o := installation.Observed{Root: true, Finalizer: true, Phase: lsv1alpha1.PhaseInit, Job: jobs[2], Now: noon}
	if need := installation.Needs(o); need != installation.NeedPlan {
		t.Errorf("without a quota it needs %q", need)
	}
	o.Limits.ConcurrentJobs = 1
	if need := installation.Needs(o); need != installation.NeedTurn {
		t.Errorf("with a quota it needs %q", need)
	}
	o.Turn = &installation.Turn{Limit: 1}
	if need := installation.Needs(o); need != installation.NeedPlan {
		t.Errorf("in its turn it needs %q", need)
	}
	if o.Turn.Running = 1; installation.Needs(o) != "" {
		t.Errorf("while it waits it needs %q", installation.Needs(o))
	}
	o.Turn, o.Root = nil, false
	if need := installation.Needs(o); need != installation.NeedPlan {
		t.Errorf("a nested installation needs %q", need)
	}
}

// The status of a waiting job says which quota it waits for, and that it waits.
func TestWhatWaitsIsSeenInItsStatus(t *testing.T) {
	inst := named("i", func(i *lsv1alpha1.Installation) {
		i.Status.RunStatus = lsv1alpha1.RunStatus{Phase: lsv1alpha1.PhaseInit, JobID: job, JobIDFinished: older}
	})
	stage := func() installation.JobStage {
		found, running := installation.RootJobOf(inst)
		if !running || found.ID != job {
			t.Fatalf("the job is %+v, %v", found, running)
		}
		return found.Stage
	}
	if stage() != installation.JobPreparing || installation.ToldJobQuota(&inst.Status.RunStatus) != 0 {
		t.Errorf("before it waits: %+v", inst.Status)
	}
	o := installation.NewObserved(installation.Snapshot{Installation: inst, Now: noon})
	o.Finalizer, o.Turn = true, &installation.Turn{Namespace: "n", Limit: 12, Running: 12, Earlier: 3}
	installation.Settle(inst, o, installation.Decide(o), nil)
	if stage() != installation.JobQueued || installation.ToldJobQuota(&inst.Status.RunStatus) != 12 {
		t.Errorf("while it waits: %+v", inst.Status)
	}
	o.Turn = &installation.Turn{Namespace: "n", Limit: 12, Running: 1}
	installation.Settle(inst, o, installation.Decide(o), nil)
	if stage() != installation.JobBegun {
		t.Errorf("after it has begun: %+v", inst.Status)
	}
	for name, change := range map[string]func(*lsv1alpha1.Installation){
		"finished": func(i *lsv1alpha1.Installation) { i.Status.JobIDFinished = job },
		"deleting": func(i *lsv1alpha1.Installation) { i.Status.Phase = lsv1alpha1.PhaseDeleting },
		"nested":   func(i *lsv1alpha1.Installation) { i.Labels = map[string]string{lsv1alpha1.EncompassedByLabel: "root"} },
		"continuous": func(i *lsv1alpha1.Installation) {
			i.Spec.Flow = lsv1alpha1.FlowContinuous
			i.Status.RunStatus = lsv1alpha1.RunStatus{}
		},
	} {
		other := inst.DeepCopy()
		change(other)
		if found, running := installation.RootJobOf(other); running {
			t.Errorf("%s: %+v counts", name, found)
		}
	}
}

// subOf and executionOf build the parts of plans.
func subOf(name string) *lsv1alpha1.Installation {
	return named(name, func(i *lsv1alpha1.Installation) { i.Labels = map[string]string{lsv1alpha1.EncompassedByLabel: "root"} })
}

func executionOf(items int) *lsv1alpha1.Execution {
	e := &lsv1alpha1.Execution{ObjectMeta: metav1.ObjectMeta{Name: "root"}}
	for i := range items {
		e.Spec.DeployItems = append(e.Spec.DeployItems, lsv1alpha1.DeployItemTemplate{
			Name: fmt.Sprint(i), Configuration: &runtime.RawExtension{Raw: []byte(`{"a":1}`)},
		})
	}
	return e
}

// Every plan of up to three nested installations and three deploy items, with every stock, is accepted if and only if the namespace has
// room for all of it, or it needs no more than already exists.
func TestAPlanIsRefusedAsAWholeIfTheNamespaceHasNoRoomForIt(t *testing.T) {
	seen := 0
	for n := range 3 * 4 * 4 * 4 * 4 * 4 {
		pick := func(count int) int { value := n % count; n /= count; return value }
		foreign, coming, before, wanted, items, limit := pick(3), pick(4), pick(4), pick(4), pick(4), pick(4)
		s := installation.Stock{Namespace: "shop", Limits: installation.Limits{Installations: int64(limit), DeployItems: int64(limit)}}
		s.There = append(s.There, installation.Piece{Kind: installation.ChildInstallation, Name: "root"})
		for i := range foreign {
			s.There = append(s.There, installation.Piece{Kind: installation.ChildExecution, Name: fmt.Sprint("foreign", i), DeployItems: 1})
		}
		for i := range coming {
			s.Coming = append(s.Coming, installation.Piece{Kind: installation.ChildInstallation, Name: fmt.Sprint("coming", i)})
		}
		plan := &installation.Plan{}
		for i := range max(before, wanted) {
			sub := subOf(fmt.Sprint("sub", i))
			if i < before {
				s.There = append(s.There, installation.PieceOfInstallation(sub))
			}
			if i < wanted {
				plan.Subs = append(plan.Subs, installation.SubWrite{Name: sub.Name, Wanted: sub})
			} else {
				plan.OrphanedSubs = append(plan.OrphanedSubs, sub)
			}
		}
		if items > 0 {
			plan.Execution = &installation.ExecutionWrite{Wanted: executionOf(items)}
		}
		seen++
		installations := limit == 0 || 1+coming+wanted <= limit || wanted <= before
		deployItems := limit == 0 || foreign+items <= limit || items == 0
		err := s.Refuse(plan)
		if accepted := installations && deployItems; (err == nil) != accepted {
			t.Errorf("%+v\nwith %d and %d: %v", s, wanted, items, err)
		}
		if err != nil && (failure.KindOf(err) != failure.Terminal || failure.DetailsOf(err).Reason != installation.ReasonQuotaExceeded) {
			t.Errorf("it is refused by %#v", err)
		}
	}
	if seen != 3*4*4*4*4*4 {
		t.Errorf("%d plans were tried", seen)
	}
}

func TestARefusalSaysHowMuchThereIsAndWhomToAsk(t *testing.T) {
	s := installation.Stock{Namespace: "shop", Limits: installation.Limits{DeployItems: 4}, There: []installation.Piece{
		{Kind: installation.ChildExecution, Name: "other", DeployItems: 3}, {Kind: installation.ChildExecution, Name: "root", DeployItems: 1},
	}}
	err := s.Refuse(&installation.Plan{Execution: &installation.ExecutionWrite{Wanted: executionOf(3)}})
	const want = "quota exceeded: namespace shop may have at most 4 deploy items: it has 4, and this installation needs 2 more. Delete " +
		"installations that are no longer needed, or ask a cluster administrator to raise the quota (annotation " +
		"quota.espalier.dev/deploy-items of the namespace); then start a new job"
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	s.Limits = installation.Limits{RenderedBytes: 1 << 10}
	s.There = []installation.Piece{{Kind: installation.ChildExecution, Name: "other", Bytes: 1000}}
	if err := s.Refuse(&installation.Plan{Execution: &installation.ExecutionWrite{Wanted: executionOf(1)}}); err == nil ||
		!strings.Contains(err.Error(), "at most 1Ki bytes of rendered deploy items and nested installations: it has 1000, and this") {
		t.Errorf("got %v", err)
	}
	s.Limits.RenderedBytes = 1000 + installation.PieceOfExecution(executionOf(1)).Bytes
	if err := s.Refuse(&installation.Plan{Execution: &installation.ExecutionWrite{Wanted: executionOf(1)}}); err != nil {
		t.Errorf("there is just enough room: %v", err)
	}
}

// Compression does not circumvent a quota.
func TestDeployItemsAreMeasuredAsTheyWereRendered(t *testing.T) {
	plain, packed := executionOf(3000), executionOf(0)
	if err := packed.Spec.SetItems(plain.Spec.DeployItems); err != nil || packed.Spec.DeployItemsCompressed == "" {
		t.Fatalf("not compressed: %v", err)
	}
	if a, b := installation.PieceOfExecution(plain), installation.PieceOfExecution(packed); a != b || a.DeployItems != 3000 {
		t.Errorf("%+v and %+v", a, b)
	}
}

// If users create more roots than the quota permits, the first ones continue.
func TestTheNewestInstallationsAreBeyondAQuota(t *testing.T) {
	at := func(name string, second int) *lsv1alpha1.Installation {
		return named(name, func(i *lsv1alpha1.Installation) {
			i.CreationTimestamp.Time = noon.Add(time.Duration(second) * time.Second)
		})
	}
	all := []*lsv1alpha1.Installation{at("d", 1), at("b", 2), at("a", 2), at("c", 3)}
	var places []int64
	for _, inst := range all {
		places = append(places, installation.PlaceOf(inst, all))
	}
	if !slices.Equal(places, []int64{1, 3, 2, 4}) {
		t.Errorf("the places are %d", places)
	}
	s := installation.Stock{Namespace: "shop", Limits: installation.Limits{Installations: 3}, Place: 4}
	if err := s.Refuse(&installation.Plan{}); err == nil ||
		!strings.Contains(err.Error(), "at most 3 installations, and 3 were created before this one") {
		t.Errorf("got %v", err)
	}
	all[3].Status.ExecutionReference = &lsv1alpha1.ObjectReference{Name: "c"}
	if place := installation.PlaceOf(all[3], all); place != 0 {
		t.Errorf("what has been installed has place %d", place)
	}
}
