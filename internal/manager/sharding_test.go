// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"context"
	"errors"
	"maps"
	"math"
	"net/http"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"espalier.dev/internal/shard"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/traffic"
)

// locks creates the locks of processes that want the same Lease, and plays their electors.
type locks struct {
	*testing.T
	world *testkit.World
	// elapsed is added to each written time, so that renewals differ.
	elapsed time.Duration
}

func newLocks(t *testing.T) *locks {
	t.Helper()
	return &locks{T: t, world: testkit.NewWorld(t)}
}

// of returns the lock of a process; the lock for all of the work is that of controller-runtime.
func (l *locks) of(identity, part string) resourcelock.Interface {
	l.Helper()
	s, err := shard.Parse(part)
	if err != nil {
		l.Fatal(err)
	}
	options := DefaultOptions()
	options.Shard, options.LeaderElection.Namespace = part, l.world.Namespace
	if s.IsAll() {
		client, err := coordinationclient.NewForConfig(l.world.Config())
		if err != nil {
			l.Fatal(err)
		}
		return &resourcelock.LeaseLock{
			LeaseMeta: metav1.ObjectMeta{Namespace: l.world.Namespace, Name: options.leaseName()}, Client: client,
			LockConfig: resourcelock.ResourceLockConfig{Identity: identity},
		}
	}
	lock, err := newShardLock(l.world.Config(), options, s)
	if err != nil {
		l.Fatal(err)
	}
	lock.identity = identity
	return lock
}

// record returns the record that an elector writes; without an identity it releases.
func (l *locks) record(identity string) resourcelock.LeaderElectionRecord {
	l.elapsed += time.Second
	now := metav1.NewTime(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Add(l.elapsed))
	return resourcelock.LeaderElectionRecord{HolderIdentity: identity, LeaseDurationSeconds: 15, AcquireTime: now, RenewTime: now}
}

// seen returns who blocks a process, empty if nobody does, and the record that it compares.
func (l *locks) seen(lock resourcelock.Interface) (holder, raw string) {
	l.Helper()
	record, bytes, err := lock.Get(l.Context())
	if err != nil {
		l.Fatal(err)
	}
	return record.HolderIdentity, string(bytes)
}

// takes makes a process acquire or renew the lease, after it has read it.
func (l *locks) takes(lock resourcelock.Interface) {
	l.Helper()
	_, _, err := lock.Get(l.Context())
	if apierrors.IsNotFound(err) {
		err = lock.Create(l.Context(), l.record(lock.Identity()))
	} else if err == nil {
		err = lock.Update(l.Context(), l.record(lock.Identity()))
	}
	if err != nil {
		l.Fatalf("%s takes %s: %v", lock.Identity(), lock.Describe(), err)
	}
}

func (l *locks) letsGo(lock resourcelock.Interface) {
	l.Helper()
	l.seen(lock)
	if err := lock.Update(l.Context(), l.record("")); err != nil {
		l.Fatalf("%s lets go of %s: %v", lock.Identity(), lock.Describe(), err)
	}
}

// sees fails unless a process finds the lease held as expected; empty means that it may acquire it.
func (l *locks) sees(lock resourcelock.Interface, want string) {
	l.Helper()
	if got, _ := l.seen(lock); got != want {
		l.Errorf("%s at %s sees %q, not %q", lock.Identity(), lock.Describe(), got, want)
	}
}

// holder checks the holder that the Lease shows.
func (l *locks) holder(want string) {
	l.Helper()
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: l.world.Namespace, Name: LeaseName}}
	l.world.Read(lease)
	if got := holderOf(lease); got != want {
		l.Errorf("the Lease is held by %q, not %q: %s", got, want, lease.Annotations[shard.Annotation])
	}
}

func TestProcessesOfOneDivisionDoNotWaitForEachOther(t *testing.T) {
	l := newLocks(t)
	a, b, again := l.of("a", "1/2"), l.of("b", "2/2"), l.of("c", "1/2")
	l.takes(a)
	l.sees(b, "")
	l.takes(b)
	l.holder("shards 1/2 2/2")
	l.sees(a, "a")
	l.sees(b, "b")
	l.sees(again, "a") // of two replicas, one works
	l.letsGo(a)
	l.sees(again, "")
	l.holder("shards 2/2")
	l.letsGo(b)
	l.holder("")
}

// A process that ends while it takes its shard releases it, although the API server answers only afterwards.
func TestAProcessThatEndsWhileItTakesItsShardReleasesIt(t *testing.T) {
	for name, method := range map[string]string{"first": http.MethodPost, "beside another": http.MethodPut} {
		t.Run(name, func(t *testing.T) {
			l := newLocks(t)
			others := ""
			if method == http.MethodPut {
				l.takes(l.of("a", "1/2"))
				others = "shards 1/2"
			}
			ctx, end := context.WithCancel(t.Context())
			defer end()
			connection := rest.CopyConfig(l.world.Config())
			connection.Wrap(func(base http.RoundTripper) http.RoundTripper {
				return traffic.RoundTripper(func(request *http.Request) (*http.Response, error) {
					answer, err := base.RoundTrip(request)
					if request.Method != method || err != nil {
						return answer, err
					}
					end()
					if err := request.Context().Err(); err != nil { // Nobody waits for the answer.
						return nil, errors.Join(err, answer.Body.Close())
					}
					return answer, nil
				})
			})
			options := DefaultOptions()
			options.LeaderElection.Namespace = l.world.Namespace
			lock, err := newShardLock(connection, options, shard.Shard{Number: 2, Of: 2})
			if err != nil {
				t.Fatal(err)
			}
			leaderelection.RunOrDie(ctx, leaderelection.LeaderElectionConfig{
				Lock: lock, LeaseDuration: time.Hour, RenewDeadline: testkit.Patience, RetryPeriod: time.Second, ReleaseOnCancel: true,
				Callbacks: leaderelection.LeaderCallbacks{OnStartedLeading: func(context.Context) {}, OnStoppedLeading: func() {}},
			})
			l.holder(others)
		})
	}
}

// From two to three: each process waits only for those whose trees it gets.
func TestProcessesOfAnotherDivisionWait(t *testing.T) {
	l := newLocks(t)
	a, b := l.of("a", "1/2"), l.of("b", "2/2")
	first, second, third := l.of("x", "1/3"), l.of("y", "2/3"), l.of("z", "3/3")
	l.takes(a)
	l.takes(b)
	l.sees(first, "a")
	l.sees(second, "b")
	_, before := l.seen(third)
	for _, one := range []resourcelock.Interface{a, b} {
		l.takes(one)
		_, after := l.seen(third)
		if after == before {
			t.Errorf("that %s lives is not seen by who waits for both", one.Identity())
		}
		before = after
	}
	l.letsGo(a)
	l.sees(first, "")
	l.takes(first)
	l.sees(third, "b")
	l.sees(l.of("c", "1/2"), "x") // there is no way back
	l.holder("shards 2/2 1/3")
	l.letsGo(b)
	l.sees(third, "")
	l.takes(second)
	l.takes(third)
	l.holder("shards 1/3 2/3 3/3")
}

// A process without shards, of this or an earlier version, and those that share the work never work at the same time.
func TestOneForAllExcludesShards(t *testing.T) {
	l := newLocks(t)
	all, a, b := l.of("all", ""), l.of("a", "1/2"), l.of("b", "2/2")
	l.takes(all)
	l.sees(a, "all")
	l.sees(b, "all")
	l.letsGo(all)
	l.takes(a)
	l.sees(all, "shards 1/2")
	l.takes(b)
	_, before := l.seen(all)
	l.takes(b)
	if _, after := l.seen(all); after == before {
		t.Error("a process that waits for all of the work does not see that the others live")
	}
	l.letsGo(a)
	l.sees(all, "shards 2/2")
	l.takes(all) // b's lease has expired
	l.sees(b, "all")
	l.letsGo(all)
	l.sees(a, "")
	l.sees(b, "")
}

// Of processes that want the same trees at the same moment one gets them, whatever each believes the number of shards is.
func TestOfTwoThatTakeAtOnceOneGets(t *testing.T) {
	for _, parts := range [][2]string{{"1/2", "1/2"}, {"1/2", "3/3"}, {"2/3", "2/2"}, {"1/2", ""}, {"", "2/5"}} {
		l := newLocks(t)
		a, b := l.of("a", parts[0]), l.of("b", parts[1])
		first := l.of("first", "1/2")
		l.takes(first)
		l.letsGo(first)
		l.sees(a, "")
		l.sees(b, "")
		if err := a.Update(t.Context(), l.record("a")); err != nil {
			t.Fatal(err)
		}
		if err := b.Update(t.Context(), l.record("b")); !apierrors.IsConflict(err) {
			t.Errorf("%v: both take it: %v", parts, err)
		}
		got, _ := l.seen(b)
		if got == "" || got == "b" {
			t.Errorf("%v: the other sees %q", parts, got)
		}
	}
}

// A process whose lease has expired loses its shard, and notices when it comes back.
func TestALostShardIsNotRenewed(t *testing.T) {
	l := newLocks(t)
	a, b, third := l.of("a", "1/2"), l.of("b", "2/2"), l.of("z", "3/3")
	l.takes(a)
	l.takes(b)
	l.takes(third) // its elector has seen neither of them renew for long enough
	l.holder("shards 3/3")
	for _, lost := range []resourcelock.Interface{a, b} {
		if err := lost.Update(t.Context(), l.record(lost.Identity())); !apierrors.IsConflict(err) {
			t.Errorf("%s renews what it has lost: %v", lost.Identity(), err)
		}
		l.sees(lost, "z")
		l.letsGo(lost)
	}
	l.holder("shards 3/3")
}

func TestALeaseThatSomebodyHasSpoiledIsLeftAlone(t *testing.T) {
	l := newLocks(t)
	a, b := l.of("a", "1/2"), l.of("b", "2/2")
	l.takes(a)
	l.world.Patch(&coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: l.world.Namespace, Name: LeaseName}},
		`{"metadata":{"annotations":{"`+shard.Annotation+`":"{"}}}`)
	for _, lock := range []resourcelock.Interface{a, b} {
		_, _, err := lock.Get(t.Context())
		if err == nil || !strings.Contains(err.Error(), "stop all processes and delete it") {
			t.Errorf("%s reads %v", lock.Identity(), err)
		}
		if err := lock.Update(t.Context(), l.record(lock.Identity())); err == nil {
			t.Errorf("%s writes it", lock.Identity())
		}
	}
}

func TestOutsideOfAClusterTheLeaseNeedsANamespace(t *testing.T) {
	options := DefaultOptions()
	options.Shard = "1/2"
	_, err := newShardLock(testkit.Server(t).Config(), options, options.part())
	if err == nil || !strings.Contains(err.Error(), "--leader-elect-namespace") {
		t.Errorf("%v", err)
	}
}

// The holder of a shard reports when each shard of its division was last renewed, also for one that has been released or never was held.
func TestRenewalsOfShardsAreReported(t *testing.T) {
	l := newLocks(t)
	a, b := l.of("a", "1/3").(*shardLock), l.of("b", "2/3")
	check := func(number string, want time.Time) {
		t.Helper()
		if got := reportedRenewal(t, number, "3"); math.Abs(got-float64(want.UnixMilli())/1000) > 0.002 {
			t.Errorf("shard %s was last renewed at %f, not at %s", number, got, want)
		}
	}
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	l.takes(b)
	l.takes(a)
	check("1", start.Add(2*time.Second))
	check("2", start.Add(1*time.Second))
	check("3", a.started)
	l.takes(b)
	l.takes(a)
	check("2", start.Add(3*time.Second))
	l.letsGo(b)
	l.takes(a)
	check("1", start.Add(6*time.Second))
	check("2", start.Add(3*time.Second))
	check("3", a.started)
}

// reportedRenewal returns the metric of a shard; 0 if it is not reported.
func reportedRenewal(t *testing.T, number, of string) float64 {
	t.Helper()
	families, err := metrics.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			labels := map[string]string{}
			for _, label := range metric.GetLabel() {
				labels[label.GetName()] = label.GetValue()
			}
			want := map[string]string{"lease": LeaseName, "shard": number, "shards": of}
			if family.GetName() == "espalier_shard_renewed_timestamp_seconds" && maps.Equal(labels, want) {
				return metric.GetGauge().GetValue()
			}
		}
	}
	return 0
}
