// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package targetsync_test

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/failure"
	"espalier.dev/internal/targetsync"
)

var now = time.Date(2026, 11, 18, 10, 0, 0, 0, time.UTC)

// observed returns a TargetSync whose source has the Secrets a and b.
func observed(change ...func(*targetsync.Observed)) targetsync.Observed {
	o := targetsync.NewObserved(&lsv1alpha1.TargetSync{
		ObjectMeta: metav1.ObjectMeta{Name: "sync", Generation: 1, Finalizers: []string{lsv1alpha1.Finalizer}},
		Spec: lsv1alpha1.TargetSyncSpec{
			SourceNamespace: "garden", SecretRef: lsv1alpha1.LocalSecretReference{Name: "access"}, SecretNameExpression: "*",
		},
	}, now)
	o.Targets, o.Secrets = map[string]targetsync.Target{}, map[string]targetsync.Secret{}
	o.Source = &targetsync.Source{Secrets: map[string]targetsync.Content{"a": content("1"), "b": content("2")}}
	for _, f := range change {
		f(&o)
	}
	return o
}

func content(text string) targetsync.Content {
	return targetsync.Content{Type: "Opaque", Data: map[string][]byte{"kubeconfig": []byte(text)}}
}

// outcome is the final state of a TargetSync.
type outcome struct {
	did  []string
	err  error
	last targetsync.Decision
	o    targetsync.Observed
	ts   *lsv1alpha1.TargetSync
}

// run carries out decisions until one waits. Effects whose names are in fail fail.
func run(t *testing.T, o targetsync.Observed, fail ...string) outcome {
	t.Helper()
	result := outcome{o: o, ts: &lsv1alpha1.TargetSync{}}
	for range 32 {
		d := targetsync.Decide(result.o)
		result.last = d
		for _, effect := range d.Do {
			result.act(effect, fail)
		}
		result.o = targetsync.Settle(result.ts, result.o, d, result.err)
		if d.Wait || result.err != nil {
			return result
		}
	}
	t.Fatalf("no end: %v", result.did)
	return result
}

func (r *outcome) act(effect targetsync.Effect, fail []string) {
	if refuse, ok := effect.(targetsync.Refuse); ok {
		r.err = refuse.Err
		return
	}
	r.did = append(r.did, effect.String())
	if slices.ContainsFunc(fail, func(text string) bool { return strings.Contains(effect.String(), text) }) {
		if !targetsync.Separable(effect) {
			r.err = errors.New("refused")
			return
		}
		r.o = r.o.Failing(effect, errors.New("refused"))
		return
	}
	var written targetsync.Secret
	switch e := effect.(type) {
	case targetsync.WriteSecret:
		written = targetsync.Secret{By: r.o.Name, Type: targetsync.CopyType(e.Content.Type), Data: e.Content.Data}
	case targetsync.RenewShoot:
		written = targetsync.Secret{By: r.o.Name, Type: "Opaque", Data: map[string][]byte{"kubeconfig": []byte("x")}, Synced: r.o.Now}
	}
	r.o = targetsync.After(r.o, effect, written)
}

func (r outcome) check(t *testing.T, did ...string) {
	t.Helper()
	if !slices.Equal(r.did, did) {
		t.Errorf("it did %q, not %q (%v)", r.did, did, r.err)
	}
}

func TestSecretsComeBeforeTheirTargetsAndOnce(t *testing.T) {
	first := run(t, observed())
	first.check(t, "write Secret a", "write Secret b", "write Target a", "write Target b")
	if first.err != nil || first.last.RequeueAfter != targetsync.Interval || targetsync.PhaseOf(first.ts) != targetsync.Synchronised {
		t.Errorf("%v, %+v, %+v", first.err, first.last, first.ts.Status)
	}
	again := first.o
	again.Changed = false
	second := run(t, again)
	second.check(t)
	status := second.ts.Status
	if after := targetsync.Settle(second.ts, second.o, second.last, nil); !reflect.DeepEqual(status, second.ts.Status) || after.Changed {
		t.Error("nothing has changed, and the status has")
	}
}

// What was removed from the source is deleted only if everything succeeded; foreign objects never are, nor the Secret of the source.
func TestRemovals(t *testing.T) {
	old := func(o *targetsync.Observed) {
		o.Secrets["old"] = targetsync.Secret{UID: "1"}
		o.Secrets["access"] = targetsync.Secret{UID: "2"}
		o.Targets["old"] = targetsync.Target{UID: "3", Ours: true}
		o.Targets["foreign"] = targetsync.Target{UID: "4"}
	}
	well := run(t, observed(old))
	if got := well.did[len(well.did)-2:]; !slices.Equal(got, []string{"delete Secret old", "delete Target old"}) || well.err != nil {
		t.Errorf("did %q: %v", well.did, well.err)
	}
	for name, failing := range map[string]outcome{
		"a write that fails": run(t, observed(old), "write Secret a"),
		"something in a way": run(t, observed(old, func(o *targetsync.Observed) { o.Targets["b"] = targetsync.Target{} })),
		"the source is down": run(t, observed(old, func(o *targetsync.Observed) { o.Source = &targetsync.Source{Err: errors.New("down")} })),
		"two TargetSyncs":    run(t, observed(old, func(o *targetsync.Observed) { o.Others = []string{"other"} })),
		"a wrong expression": run(t, observed(old, func(o *targetsync.Observed) { o.Spec.SecretNameExpression = "(" })),
		"a rotation that fails": run(t, observed(old, func(o *targetsync.Observed) {
			o.Spec.TokenRotation = &lsv1alpha1.TokenRotation{Enabled: true}
		}), "replace the token"),
	} {
		if strings.Contains(strings.Join(failing.did, ";"), "delete") || failing.err == nil || len(failing.ts.Status.LastErrors) == 0 ||
			targetsync.PhaseOf(failing.ts) != targetsync.Failing {
			t.Errorf("%s: did %q: %v", name, failing.did, failing.err)
		}
	}
	others := run(t, observed(old, func(o *targetsync.Observed) { o.Others = []string{"other"} }))
	if failure.KindOf(others.err) != failure.Retryable {
		t.Errorf("another TargetSync: %v", others.err)
	}
}

// A deletion never reads the source, and deletes nothing of another TargetSync.
func TestDeletion(t *testing.T) {
	made := func(o *targetsync.Observed) {
		o.Deleting, o.Source = true, nil
		o.Secrets["mine"], o.Targets["mine"] = targetsync.Secret{By: "sync"}, targetsync.Target{Ours: true, By: "sync"}
		o.Secrets["old"], o.Targets["old"] = targetsync.Secret{}, targetsync.Target{Ours: true}
		o.Secrets["access"], o.Targets["foreign"] = targetsync.Secret{By: "sync"}, targetsync.Target{By: "sync"}
	}
	if targetsync.NeedsSource(observed(made)) {
		t.Error("a deletion asks the source")
	}
	run(t, observed(made)).check(t,
		"delete Secret mine", "delete Secret old", "delete Target mine", "delete Target old", "remove the finalizer")
	run(t, observed(made, func(o *targetsync.Observed) { o.Others = []string{"other"} })).check(t,
		"delete Secret mine", "delete Target mine", "remove the finalizer")
	stuck := run(t, observed(made), "delete Secret mine")
	if slices.Contains(stuck.did, "remove the finalizer") || stuck.err == nil {
		t.Errorf("did %q: %v", stuck.did, stuck.err)
	}
}

func TestRotation(t *testing.T) {
	day := 24 * time.Hour
	for name, test := range map[string]struct {
		enabled, asked       bool
		seen, status, secret time.Duration // ago; zero is never
		want                 []string
	}{
		"not enabled":                          {asked: true},
		"never":                                {enabled: true, want: []string{"replace the token"}},
		"60 days ago":                          {enabled: true, status: 60 * day},
		"61 days ago":                          {enabled: true, status: 61 * day, want: []string{"replace the token"}},
		"the status was not written":           {enabled: true, secret: day},
		"the status is behind":                 {enabled: true, status: 61 * day, secret: time.Minute},
		"asked":                                {enabled: true, asked: true, status: day, want: []string{"record the request for another token", "replace the token", "remove the annotations of completed requests"}},
		"asked, and seen":                      {enabled: true, asked: true, seen: time.Hour, status: day, secret: day, want: []string{"replace the token", "remove the annotations of completed requests"}},
		"asked, and written":                   {enabled: true, asked: true, seen: time.Hour, secret: time.Minute, want: []string{"remove the annotations of completed requests"}},
		"asked by a machine with a fast clock": {enabled: true, asked: true, seen: -time.Minute, status: day, secret: day, want: []string{"replace the token", "remove the annotations of completed requests"}},
		"replaced in a time to come":           {enabled: true, secret: -100 * day, want: []string{"replace the token"}},
	} {
		ago := func(d time.Duration) time.Time {
			if d == 0 {
				return time.Time{}
			}
			return now.Add(-d)
		}
		got := run(t, observed(func(o *targetsync.Observed) {
			o.Source.Secrets = nil
			o.Spec.TokenRotation = &lsv1alpha1.TokenRotation{Enabled: test.enabled}
			o.RotationAsked, o.RotationSeen, o.LastRotation, o.Source.Rotated = test.asked, ago(test.seen), ago(test.status), ago(test.secret)
		}))
		if !slices.Equal(got.did, test.want) {
			t.Errorf("%s: did %q, not %q", name, got.did, test.want)
		}
		if rotated := slices.Contains(got.did, "replace the token"); rotated != (got.ts.Status.LastTokenRotationTime != nil) && test.secret == 0 {
			t.Errorf("%s: the status says %v", name, got.ts.Status.LastTokenRotationTime)
		}
	}
}

func TestShootsAreRenewedInTime(t *testing.T) {
	for age, want := range map[time.Duration]bool{0: false, 11 * time.Hour: false, 13 * time.Hour: true, -13 * time.Hour: true} {
		got := run(t, observed(func(o *targetsync.Observed) {
			o.Spec.SecretNameExpression, o.Spec.ShootNameExpression = "", "*"
			o.Source = &targetsync.Source{Shoots: []string{"east"}}
			at := now.Add(-age)
			o.Secrets["east"] = targetsync.Secret{By: "sync", Type: "Opaque", Data: map[string][]byte{"kubeconfig": []byte("k")}, Synced: at}
		}))
		if renewed := slices.Contains(got.did, "renew the credentials of shoot east"); renewed != want {
			t.Errorf("%s: renewed is %t", age, renewed)
		}
		if got.o.Targets["east"].Synced != got.o.Secrets["east"].Synced || got.err != nil {
			t.Errorf("%s: the Target says %s: %v", age, got.o.Targets["east"].Synced, got.err)
		}
	}
	soon := run(t, observed(func(o *targetsync.Observed) {
		o.Source = &targetsync.Source{Shoots: []string{"east"}}
		o.Secrets["east"] = targetsync.Secret{
			By: "sync", Type: "Opaque", Data: map[string][]byte{"kubeconfig": []byte("k")}, Synced: now.Add(-targetsync.RenewAfter + time.Minute),
		}
	}))
	if soon.last.RequeueAfter != time.Minute {
		t.Errorf("looks again after %s", soon.last.RequeueAfter)
	}
}

// For all facts, there is a decision, the process ends, foreign objects stay, and nothing is requested twice.
func TestEveryCombinationHasAnEnd(t *testing.T) {
	flags := []func(*targetsync.Observed){
		func(o *targetsync.Observed) { o.Deleting = true },
		func(o *targetsync.Observed) { o.Finalizer = false },
		func(o *targetsync.Observed) { o.Asked = true },
		func(o *targetsync.Observed) { o.RotationAsked = true },
		func(o *targetsync.Observed) { o.RotationSeen = now.Add(-time.Minute) },
		func(o *targetsync.Observed) { o.Spec.TokenRotation = &lsv1alpha1.TokenRotation{Enabled: true} },
		func(o *targetsync.Observed) { o.Others = []string{"other"} },
		func(o *targetsync.Observed) { o.Source = nil },
		func(o *targetsync.Observed) { o.Targets["a"] = targetsync.Target{UID: "foreign"} },
		func(o *targetsync.Observed) {
			o.Secrets["a"] = targetsync.Secret{By: "sync", Data: content("old").Data}
		},
		func(o *targetsync.Observed) { o.Spec.CreateTargetToSource = true; o.Spec.TargetToSourceName = "b" },
	}
	for mask := range 1 << len(flags) {
		var chosen []func(*targetsync.Observed)
		for i, f := range flags {
			if mask&(1<<i) != 0 {
				chosen = append(chosen, f)
			}
		}
		for _, fail := range []string{"nothing", "write", "delete", "token"} {
			got := run(t, observed(chosen...), fail)
			seen := map[string]int{}
			for _, what := range got.did {
				if seen[what]++; seen[what] > 1 {
					t.Fatalf("%b, %s: did twice: %q", mask, fail, got.did)
				}
			}
			if target, exists := got.o.Targets["a"]; mask&(1<<8) != 0 && (!exists || target.UID != "foreign") {
				t.Fatalf("%b, %s: the Target of somebody else is gone: %q", mask, fail, slices.Collect(maps.Keys(got.o.Targets)))
			}
			if got.err == nil && got.last.Why == (targetsync.Decision{}).Why {
				t.Fatalf("%b, %s: nobody knows why: %s", mask, fail, fmt.Sprint(got.last))
			}
		}
	}
}
