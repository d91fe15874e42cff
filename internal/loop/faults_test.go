// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package loop_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/faults"
)

// The life of a plant, from the request to the end of its deletion, with the same outcome whatever goes wrong once.

func TestCrashAtEveryWrite(t *testing.T) {
	faults.Sweep(t, faults.EachWrite(reference(t)), liveThrough)
}

func TestErrorAtEveryWrite(t *testing.T) {
	faults.Sweep(t, faults.EachWrite(reference(t), actions(t, "409", "429", "500", "503", "504", "reset", "timeout", "lost-timeout")...), liveThrough)
}

func TestCrashAtEveryRequest(t *testing.T) {
	var plans []faults.Plan
	for n := range len(reference(t)) {
		plans = append(plans, faults.MustParse(fmt.Sprintf("request:%d:before", n+1)), faults.MustParse(fmt.Sprintf("request:%d:after", n+1)))
	}
	faults.Sweep(t, plans, liveThrough)
}

// Each kind's cache in turn stops at each write and is behind until the next one, or has to list anew.
func TestStaleCacheAroundEveryWrite(t *testing.T) {
	var plans []faults.Plan
	for _, entry := range reference(t).Writes() {
		for _, resource := range []string{"plants", "configmaps"} {
			for _, how := range []string{"hold", "relist"} {
				plans = append(plans, faults.MustParse(fmt.Sprintf("watch:%s:%s:%d..%d", resource, how, entry.Write, entry.Write+1)))
			}
		}
	}
	faults.Sweep(t, plans, liveThrough)
}

func TestCutWatchesAtEveryWrite(t *testing.T) {
	var plans []faults.Plan
	for _, entry := range reference(t).Writes() {
		plans = append(plans, faults.MustParse(fmt.Sprintf("watch:plants:cut:%[1]d;watch:configmaps:gone:%[1]d", entry.Write)))
	}
	faults.Sweep(t, plans, liveThrough)
}

func actions(t *testing.T, names ...string) []faults.Action {
	t.Helper()
	var all []faults.Action
	for _, name := range names {
		all = append(all, faults.MustParse("write:1:"+name).Requests[0].Do)
	}
	return all
}

var goodDay = struct {
	once sync.Once
	log  faults.Log
}{}

// reference is what a controller asks of the API server on a good day.
func reference(t *testing.T) faults.Log {
	t.Helper()
	goodDay.once.Do(func() { goodDay.log = live(t, faults.Plan{}) })
	if len(goodDay.log) == 0 {
		t.Fatal("the reference run failed")
	}
	return goodDay.log
}

func liveThrough(t *testing.T, plan faults.Plan) {
	t.Parallel()
	live(t, plan)
}

// live runs a plant's life. A controller that crashes is followed by a healthy one, as a Deployment would do it.
func live(t *testing.T, plan faults.Plan) faults.Log {
	t.Helper()
	g := newGarden(t)
	transport := faults.New(plan)
	first := g.start(t, transport.Config(g.Config()), nil)
	done := make(chan struct{})
	restarted := make(chan struct{})
	go func() {
		defer close(restarted)
		select {
		case <-transport.Crashed():
			first.stop()
			g.start(t, g.Config(), nil)
		case <-done:
		}
	}()
	defer func() { close(done); <-restarted }()

	p := g.sow(t, "a", twoPots)
	var jobs []string
	p = testkit.Eventually(t, g.APIServer, p, func(p *Plant) error {
		if id := p.Status.JobID; id != "" && !slices.Contains(jobs, id) {
			jobs = append(jobs, id)
		}
		if !p.Status.IsFinished() || p.Status.Phase == "" {
			return fmt.Errorf("phase %q, not finished", p.Status.Phase)
		}
		return nil
	})
	if p.Status.Phase != lsv1alpha1.PhaseSucceeded || len(jobs) != 1 {
		t.Errorf("phase %s after the jobs %v, want Succeeded after one", p.Status.Phase, jobs)
	}
	if err := g.harvested(t, p); err != nil {
		t.Error(err)
	}
	g.cutDown(t, p)
	return transport.Log()
}

// cutDown deletes a plant and checks that it took its pots along.
func (g *garden) cutDown(t *testing.T, p *Plant) {
	t.Helper()
	if err := g.client.Delete(t.Context(), p); err != nil {
		t.Fatalf("delete: %v", err)
	}
	testkit.EventuallyGone(t, g.APIServer, p)
	for _, name := range p.Spec.Pots {
		err := g.client.Get(t.Context(), client.ObjectKey{Namespace: g.ns, Name: name}, &corev1.ConfigMap{})
		if err == nil || client.IgnoreNotFound(err) != nil {
			t.Errorf("pot %s after the deletion: %v, want not found", name, err)
		}
	}
}
