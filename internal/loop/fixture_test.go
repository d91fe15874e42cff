// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package loop_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/loop"
	"espalier.dev/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m, addSample) }

// fixture is a namespace with a worker that completes what is created there.
type fixture struct {
	*testkit.APIServer
	ns     string
	client client.WithWatch
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	g := newIdleFixture(t)
	g.startWorker(t)
	return g
}

// newIdleFixture is a fixture in which nothing is completed unless the test does it.
func newIdleFixture(t *testing.T) *fixture {
	t.Helper()
	server := testkit.Server(t)
	server.InstallCRD(t, sampleCRD())
	return &fixture{APIServer: server, ns: server.Namespace(t), client: server.Client()}
}

// startWorker marks each part as completed as soon as it is created, through a connection without faults.
func (g *fixture) startWorker(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	events, err := g.client.Watch(ctx, &corev1.ConfigMapList{}, client.InNamespace(g.ns), client.HasLabels{sampleLabel})
	if err != nil {
		t.Fatalf("watch the parts: %v", err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for e := range events.ResultChan() {
			if part, ok := e.Object.(*corev1.ConfigMap); ok && e.Type == watch.Added && part.Labels[jobLabel] == "" {
				g.complete(ctx, t, part)
			}
		}
	}()
	t.Cleanup(func() { cancel(); <-done })
}

func (g *fixture) complete(ctx context.Context, t *testing.T, part *corev1.ConfigMap) {
	part.Data = map[string]string{completedKey: "yes"}
	if err := g.client.Update(ctx, part); client.IgnoreNotFound(err) != nil && ctx.Err() == nil {
		t.Errorf("complete %s: %v", part.Name, err)
	}
}

// controller is one running process, as far as the API server can tell.
type controller struct {
	*testkit.Process
	view client.Reader
}

// start runs a controller of samples over the given connection. A controller that was cut off from the API server may end with an error:
// that is what a crash looks like from inside.
func (g *fixture) start(t *testing.T, cfg *rest.Config, announce func(context.Context, loop.News[*Sample, lsv1alpha1.Phase])) *controller {
	t.Helper()
	mgr := testkit.NewManager(t, cfg, g.ns, testkit.ShortGrace)
	if err := setupSample(mgr, announce); err != nil {
		t.Fatalf("set up the controller: %v", err)
	}
	c := &controller{Process: testkit.Start(t.Context(), mgr.Start), view: mgr.GetCache()}
	t.Cleanup(func() { _ = c.Stop() })
	return c
}

// awaitView returns once the controller's cache has the sample in the given version.
func (c *controller) awaitView(t *testing.T, p *Sample) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 5*time.Millisecond, testkit.Patience, true, func(ctx context.Context) (bool, error) {
		var seen Sample
		err := c.view.Get(ctx, client.ObjectKeyFromObject(p), &seen)
		return err == nil && seen.ResourceVersion == p.ResourceVersion, client.IgnoreNotFound(err)
	})
	if err != nil {
		t.Fatalf("the controller does not see version %s of %s: %v", p.ResourceVersion, p.Name, err)
	}
}

// create creates a sample that requests a job.
func (g *fixture) create(t *testing.T, name string, spec SampleSpec) *Sample {
	t.Helper()
	p := &Sample{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:   g.ns,
			Name:        name,
			Annotations: map[string]string{operation: string(lsv1alpha1.OperationReconcile)},
		},
		Spec: spec,
	}
	if err := g.client.Create(t.Context(), p); err != nil {
		t.Fatalf("create: %v", err)
	}
	return p
}

func (g *fixture) eventually(t *testing.T, p *Sample, phase lsv1alpha1.Phase) *Sample {
	t.Helper()
	return testkit.Eventually(t, g.APIServer, p, func(p *Sample) error {
		if p.Status.Phase != phase || !p.Status.IsFinished() {
			return fmt.Errorf(
				"phase is %q, job %q, finished %q, want %s and finished",
				p.Status.Phase,
				p.Status.JobID,
				p.Status.JobIDFinished,
				phase,
			)
		}
		return nil
	})
}

// completed checks the world after one successful job: every part, one result of that job, no request.
func (g *fixture) completed(t *testing.T, p *Sample) error {
	t.Helper()
	var all corev1.ConfigMapList
	if err := g.client.List(t.Context(), &all, client.InNamespace(g.ns), client.MatchingLabels{sampleLabel: p.Name}); err != nil {
		return err
	}
	parts, results := 0, map[string]int{}
	for _, item := range all.Items {
		if job := item.Labels[jobLabel]; job != "" {
			results[job]++
		} else {
			parts++
		}
	}
	var errs []error
	if parts != len(p.Spec.Parts) {
		errs = append(errs, fmt.Errorf("%d parts, want %d", parts, len(p.Spec.Parts)))
	}
	if len(results) != 1 || results[p.Status.JobID] != 1 {
		errs = append(errs, fmt.Errorf("results by job %v, want one of job %s", results, p.Status.JobID))
	}
	if request, there := p.Annotations[operation]; there {
		errs = append(errs, fmt.Errorf("the request %q is still there", request))
	}
	return errors.Join(errs...)
}
