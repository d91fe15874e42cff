// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"
)

// sketch returns a fleet without clusters; the test fills its only feed.
func sketch(applications ...Application) (*Fleet, *follower) {
	f := &Fleet{clock: clock.RealClock{}, index: newIndex(), links: map[ClusterKey]*link{}}
	l := &link{fleet: f, feeds: map[feedKey]*feed{}, narrow: map[schema.GroupVersionKind]bool{}}
	s := &session{link: l}
	key := feedKey{gvk: helmReleaseGVK}
	feed := newFeed(key, Problem{})
	feed.session, l.feeds[key], f.links[ClusterKey{}] = s, feed, l
	for i, application := range applications {
		f.Refer(pipeline(fmt.Sprint(i)), []Application{application})
	}
	return f, &follower{session: s, feed: feed, key: key}
}

func release(t testing.TB, name, revision string) *unstructured.Unstructured {
	object := objectOf(t, helmRelease("v2", `{observedGeneration: 3, lastAttemptedRevision: `+revision+`, conditions: [`+readyAt3+`],
		history: [{chartVersion: `+revision+`, status: deployed, version: 2}, {chartVersion: 0.9.0, status: superseded, version: 1}]}`))
	object.SetName(name)
	return object
}

// The time per event must not depend on the number of pipelines: compare the lines.
func BenchmarkEvent(b *testing.B) {
	for _, number := range []int{10, 1_000, 100_000} {
		b.Run(fmt.Sprintf("pipelines=%d", number), func(b *testing.B) {
			var applications []Application
			for i := range number {
				applications = append(applications, helmReleaseIn(ClusterKey{}, "apps", fmt.Sprint(i)))
			}
			f, follower := sketch(applications...)
			woken := 0
			f.OnChange(func(types.NamespacedName) { woken++ })
			woken = 0
			events := []watch.Event{
				{Type: watch.Modified, Object: release(b, "7", "1.0.0")}, {Type: watch.Modified, Object: release(b, "7", "1.1.0")},
			}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if err := follower.take(events[i%2]); err != nil {
					b.Fatal(err)
				}
			}
			if woken != b.N {
				b.Errorf("%d events woke %d pipelines", b.N, woken)
			}
		})
	}
}

func BenchmarkRead(b *testing.B) {
	application := helmReleaseIn(ClusterKey{}, "apps", "app")
	f, follower := sketch(application)
	if err := follower.take(watch.Event{Type: watch.Added, Object: release(b, "app", "1.0.0")}); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if !f.Read(application).Healthy {
			b.Fatal("it is not healthy")
		}
	}
}

// B/object is the memory of one object once it is listed. The API server sends some kilobytes per object.
func BenchmarkMemory(b *testing.B) {
	const number = 10_000
	for b.Loop() {
		_, follower := sketch()
		before := heap()
		for i := range number {
			if err := follower.take(watch.Event{Type: watch.Added, Object: release(b, fmt.Sprintf("release-of-a-tenant-%d", i), "1.0.0")}); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(heap()-before)/number, "B/object")
		runtime.KeepAlive(follower)
	}
}

func heap() uint64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}

// The index agrees with a list of all references, after any sequence of references and removals.
func TestPIP03_TheIndexCountsReferences(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	x, reference := newIndex(), map[types.NamespacedName][]Application{}
	followed := map[Application]bool{}
	for range 5000 {
		p := pipeline(fmt.Sprint(random.IntN(6)))
		var means []Application
		for range random.IntN(4) {
			means = append(means, helmReleaseIn(ClusterKey{}, "apps", fmt.Sprint(random.IntN(8))))
		}
		begun, ended := x.replace(p, means)
		reference[p] = means
		for _, application := range begun {
			if followed[application] {
				t.Fatalf("%s begins twice", application)
			}
			followed[application] = true
		}
		for _, application := range ended {
			if !followed[application] {
				t.Fatalf("%s ends without having begun", application)
			}
			delete(followed, application)
		}
		checkIndex(t, x, reference, followed)
	}
}

func checkIndex(t *testing.T, x *index, reference map[types.NamespacedName][]Application, followed map[Application]bool) {
	t.Helper()
	want := map[Application]map[types.NamespacedName]bool{}
	for p, means := range reference {
		for _, application := range means {
			if want[application] == nil {
				want[application] = map[types.NamespacedName]bool{}
			}
			want[application][p] = true
		}
	}
	if !maps.EqualFunc(want, x.users, maps.Equal) {
		t.Fatalf("the index has %v, want %v", x.users, want)
	}
	for application, users := range want {
		found := map[types.NamespacedName]bool{}
		for _, p := range x.appendUsers(nil, application) {
			found[p] = true
		}
		if !maps.Equal(users, found) {
			t.Fatalf("an event of %s leads to %v, want %v", application, found, users)
		}
	}
	if len(followed) != len(want) || slices.ContainsFunc(slices.Collect(maps.Keys(want)), func(a Application) bool { return !followed[a] }) {
		t.Fatalf("followed is %v, want %v", followed, want)
	}
}

// Results of a session are ignored after another session has taken over.
func TestPIP02_OnlyTheCurrentSessionWrites(t *testing.T) {
	application := helmReleaseIn(ClusterKey{}, "apps", "app")
	f, old := sketch(application)
	woken := 0
	f.OnChange(func(types.NamespacedName) { woken++ })
	old.feed.session = &session{link: old.session.link}
	woken = 0
	if err := old.take(watch.Event{Type: watch.Added, Object: release(t, "app", "1.0.0")}); err != nil {
		t.Fatal(err)
	}
	old.fail(errStreamFailed)
	old.replace(t.Context(), map[types.NamespacedName]record{application.key(): {health: Health{Revision: "1.0.0"}}})
	if state := f.Read(application); state.Problem.Reason != ReasonNotFound || state.Revision != "" || woken != 0 {
		t.Errorf("the state is %+v, and %d pipelines were woken", state, woken)
	}
}

// After the right to see everything is lost, and until the namespaces are read, what was seen is not current.
func TestPIP06_NarrowFeedsBeginWithWhatWasSeen(t *testing.T) {
	seen, never := helmReleaseIn(ClusterKey{}, "apps", "app"), helmReleaseIn(ClusterKey{}, "other", "app")
	f, wide := sketch(seen, never)
	if err := wide.take(watch.Event{Type: watch.Added, Object: release(t, "app", "1.0.0")}); err != nil {
		t.Fatal(err)
	}
	if !f.Read(seen).Healthy || !f.narrow(wide.feed, wide.session) {
		t.Fatal("the feed is not replaced")
	}
	if state := f.Read(seen); state.Problem.Reason != ReasonStarting || state.Revision != "1.0.0" || state.UnreadableSince.IsZero() {
		t.Errorf("the state is %+v, want what was seen, as a thing of the past", state)
	}
	if state := f.Read(never); state.Problem.Reason != ReasonStarting || state.Revision != "" || !state.UnreadableSince.IsZero() {
		t.Errorf("the state is %+v, want none", state)
	}
	if links := f.links[ClusterKey{}]; len(links.feeds) != 2 {
		t.Errorf("there are %d feeds, want one for each namespace", len(links.feeds))
	}
}

// Whatever makes an application unreadable, its last revision is kept.
func TestPIP06_TheLastRevisionIsKept(t *testing.T) {
	application := helmReleaseIn(ClusterKey{}, "apps", "app")
	const ready = `{observedGeneration: 3, conditions: [` + readyAt3 + `]}`
	mute := objectOf(t, helmRelease("v2", ready))
	for name, lose := range map[string]func(*follower) error{
		"an event without a revision": func(f *follower) error { return f.take(watch.Event{Type: watch.Modified, Object: mute}) },
		"a deletion":                  func(f *follower) error { return f.take(watch.Event{Type: watch.Deleted, Object: mute}) },
		"a list without a revision": func(f *follower) error {
			f.replace(t.Context(), map[types.NamespacedName]record{application.key(): newRecord(mute)})
			return nil
		},
		"a failure": func(f *follower) error { f.fail(errStreamFailed); return nil },
		"a failure, and then a list without a revision": func(f *follower) error {
			f.fail(errStreamFailed)
			f.replace(t.Context(), map[types.NamespacedName]record{application.key(): newRecord(mute)})
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			f, follower := sketch(application)
			lost := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
			f.clock = clocktesting.NewFakePassiveClock(lost)
			if err := follower.take(watch.Event{Type: watch.Added, Object: release(t, "app", "1.0.0")}); err != nil {
				t.Fatal(err)
			}
			if err := lose(follower); err != nil {
				t.Fatal(err)
			}
			state := f.Read(application)
			want := State{Problem: state.Problem, UnreadableSince: lost, Health: Health{Revision: "1.0.0", AttemptedRevision: "1.0.0"}}
			if diff := cmp.Diff(want, state); diff != "" || state.Known() {
				t.Errorf("the state is known: %t:\n%s", state.Known(), diff)
			}
		})
	}
}

func TestPausesGrowUpToALimit(t *testing.T) {
	for failures, want := range map[int]time.Duration{
		0:    firstPause,
		1:    firstPause,
		2:    2 * firstPause,
		4:    8 * firstPause,
		7:    lastPause,
		1000: lastPause,
	} {
		for range 100 {
			if pause := pauseAfter(failures); pause < want*8/10 || pause > want*12/10 {
				t.Fatalf("after %d failures the pause is %s, want about %s", failures, pause, want)
			}
		}
	}
}
