// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package deployer_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/deployer"
	"espalier.dev/internal/testkit"
)

// caring is a deployer that repairs its items at once, as often as its script has repairs.
type caring struct {
	scripted
	mu     sync.Mutex
	script []func(deployer.Work) (deployer.Progress, error)
	done   []string
}

func (c *caring) NextRepair(item *lsv1alpha1.DeployItem, after time.Time) (time.Time, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return after.Add(time.Nanosecond), len(c.script) > 0 && item.Name == "db"
}

func (c *caring) Repair(_ context.Context, work deployer.Work) (deployer.Progress, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	next := c.script[0]
	c.script = c.script[1:]
	c.done = append(c.done, work.Item.Status.JobID+" "+string(work.Item.Status.Phase))
	return next(work)
}

func (c *caring) repairs() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.done)
}

func fine(deployer.Work) (deployer.Progress, error) { return deployer.Progress{Done: true}, nil }

func put(what string) func(deployer.Work) (deployer.Progress, error) {
	return func(deployer.Work) (deployer.Progress, error) {
		return deployer.Progress{Done: true, Repaired: "put " + what + " right", ProviderStatus: remembered(what)}, nil
	}
}

func refuse(deployer.Work) (deployer.Progress, error) {
	return deployer.Progress{}, errors.New("the cluster is away")
}

// tells waits for an event about an item.
func (w *world) tells(item *lsv1alpha1.DeployItem, reason, note string) {
	w.Helper()
	ctx, cancel := context.WithTimeout(w.Context(), testkit.Patience)
	defer cancel()
	events, err := w.Client().Watch(ctx, &eventsv1.EventList{}, client.InNamespace(w.Namespace))
	if err != nil {
		w.Fatal(err)
	}
	defer events.Stop()
	for e := range events.ResultChan() {
		if event, ok := e.Object.(*eventsv1.Event); ok && event.Regarding.UID == item.UID && event.Reason == reason &&
			strings.Contains(event.Note, note) {
			return
		}
	}
	w.Fatalf("no event %s about %s", reason, item.Name)
}

func TestRepairsAreWrittenOnlyIfTheyChangedSomething(t *testing.T) {
	w := newWorld(t)
	recorder := testkit.Record(t, w.APIServer, w.Namespace, testkit.Groups("landscaper.gardener.cloud"))
	c := &caring{script: []func(deployer.Work) (deployer.Progress, error){fine, refuse, fine, put("north"), fine}}
	w.run(c, deployer.Options{})
	item := w.succeeds(w.item("db"))
	done := testkit.Eventually(t, w.APIServer, item, testkit.Is("repaired", func(i *lsv1alpha1.DeployItem) bool {
		return i.Status.ProviderStatus != nil && strings.Contains(string(i.Status.ProviderStatus.Raw), "north")
	}))
	w.tells(item, "Repaired", "put north right")
	w.tells(item, "RepairFailed", "the cluster is away")
	recorder.Quiet(t, time.Second)
	if got := c.repairs(); !slices.Equal(got, slices.Repeat([]string{"first Succeeded"}, 5)) {
		t.Errorf("repairs: %q", got)
	}
	after := recorder.Of(item).Where(func(r testkit.Revision) bool { return r.Version() > version(t, item) })
	if len(after) != 1 || done.Status.LastError != nil || done.Status.Phase != lsv1alpha1.PhaseSucceeded {
		t.Errorf("one of five repairs changed something, and there were %d writes:\n%s", len(after), after)
	}
}

func version(t *testing.T, item *lsv1alpha1.DeployItem) uint64 {
	t.Helper()
	var n uint64
	for _, digit := range item.ResourceVersion {
		n = n*10 + uint64(digit-'0')
	}
	return n
}

// Only a job deploys a changed spec.
func TestNothingIsRepairedWithASpecThatNoJobHasSeen(t *testing.T) {
	w := newWorld(t)
	c := &caring{}
	stop := w.run(c, deployer.Options{})
	item := w.succeeds(w.item("db"))
	stop()
	item.Spec.Context = "changed"
	if err := w.Client().Update(t.Context(), item); err != nil {
		t.Fatal(err)
	}
	c.script = []func(deployer.Work) (deployer.Progress, error){put("north")}
	w.run(c, deployer.Options{})
	w.succeeds(w.item("later"))
	if got := c.repairs(); len(got) > 0 {
		t.Errorf("repairs: %q", got)
	}
	w.begin(item, "second")
	testkit.Eventually(
		t,
		w.APIServer,
		item,
		testkit.Is("repaired", func(i *lsv1alpha1.DeployItem) bool { return i.Status.ProviderStatus != nil }),
	)
	if got := c.repairs(); !slices.Equal(got, []string{"second Succeeded"}) {
		t.Errorf("after the job, repairs: %q", got)
	}
}

// A job that arrives during a repair cancels the repair and takes precedence.
func TestAJobComesBeforeARepair(t *testing.T) {
	w := newWorld(t)
	began := make(chan struct{})
	d := &interruptible{began: began}
	w.run(d, deployer.Options{CallTimeout: time.Hour})
	item := w.succeeds(w.item("db"))
	<-began
	w.begin(item, "second")
	item = w.succeeds(item)
	if item.Status.JobIDFinished != "second" || item.Status.LastError != nil {
		t.Errorf("ended as %+v", item.Status)
	}
}

// interruptible is a deployer whose only repair lasts until it is cancelled.
type interruptible struct {
	scripted
	began chan struct{}
	once  sync.Once
}

func (d *interruptible) Intend(context.Context, deployer.Work) (runtime.Object, error) {
	return remembered("a"), nil
}

func (d *interruptible) NextRepair(item *lsv1alpha1.DeployItem, after time.Time) (time.Time, bool) {
	return after, item.Status.JobID == "first"
}

func (d *interruptible) Repair(ctx context.Context, _ deployer.Work) (deployer.Progress, error) {
	d.once.Do(func() { close(d.began) })
	<-ctx.Done()
	return deployer.Progress{}, ctx.Err()
}

// patient is a deployer that repairs its items once after each job, in two calls.
type patient struct {
	scripted
	calls chan int
	made  int
}

func (p *patient) NextRepair(item *lsv1alpha1.DeployItem, after time.Time) (time.Time, bool) {
	times := item.Status.TransitionTimes
	return after, times != nil && times.FinishedTime != nil && after.Equal(times.FinishedTime.Time)
}

func (p *patient) Repair(_ context.Context, work deployer.Work) (deployer.Progress, error) {
	p.made++
	p.calls <- p.made
	if p.made == 1 {
		defer work.Wake()
		return deployer.Progress{Recheck: time.Hour, ProviderStatus: remembered("begun")}, nil
	}
	return deployer.Progress{Done: true, Repaired: "took its time", ProviderStatus: remembered("ended")}, nil
}

// A repair that takes longer than one call is called again at its recheck, and counts as one repair.
func TestARepairMayTakeSeveralCalls(t *testing.T) {
	w := newWorld(t)
	p := &patient{calls: make(chan int, 9)}
	w.run(p, deployer.Options{})
	item := w.succeeds(w.item("db"))
	w.tells(item, "Repaired", "took its time")
	testkit.Eventually(t, w.APIServer, item, testkit.Is("repaired", func(i *lsv1alpha1.DeployItem) bool {
		return i.Status.ProviderStatus != nil && strings.Contains(string(i.Status.ProviderStatus.Raw), "ended")
	}))
	w.succeeds(w.item("later"))
	if len(p.calls) < 2 {
		t.Errorf("it was called %d times", len(p.calls))
	}
}
