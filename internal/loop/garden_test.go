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
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/loop"
	"espalier.dev/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m, addPlant) }

// garden is a namespace with a gardener who tends what is planted there.
type garden struct {
	*testkit.APIServer
	ns     string
	client client.WithWatch
}

func newGarden(t *testing.T) *garden {
	t.Helper()
	g := newWilderness(t)
	g.hireGardener(t)
	return g
}

// newWilderness is a garden in which nothing grows unless the test makes it grow.
func newWilderness(t *testing.T) *garden {
	t.Helper()
	server := testkit.Server(t)
	server.InstallCRD(t, plantCRD())
	return &garden{APIServer: server, ns: server.Namespace(t), client: server.Client()}
}

// hireGardener marks each pot as grown as soon as it is planted, through a connection that has no faults.
func (g *garden) hireGardener(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	events, err := g.client.Watch(ctx, &corev1.ConfigMapList{}, client.InNamespace(g.ns), client.HasLabels{plantLabel})
	if err != nil {
		t.Fatalf("watch the pots: %v", err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for e := range events.ResultChan() {
			if pot, ok := e.Object.(*corev1.ConfigMap); ok && e.Type == watch.Added && pot.Labels[jobLabel] == "" {
				g.grow(ctx, t, pot)
			}
		}
	}()
	t.Cleanup(func() { cancel(); <-done })
}

func (g *garden) grow(ctx context.Context, t *testing.T, pot *corev1.ConfigMap) {
	pot.Data = map[string]string{grownKey: "yes"}
	if err := g.client.Update(ctx, pot); client.IgnoreNotFound(err) != nil && ctx.Err() == nil {
		t.Errorf("grow %s: %v", pot.Name, err)
	}
}

// controller is one running process, as far as the API server can tell.
type controller struct {
	view   client.Reader
	cancel context.CancelFunc
	ended  chan error
}

// start runs a controller of plants over the given connection.
func (g *garden) start(t *testing.T, cfg *rest.Config, announce func(context.Context, loop.News[*Plant, lsv1alpha1.Phase])) *controller {
	t.Helper()
	skip, grace := true, time.Second
	mgr, err := ctrl.NewManager(cfg, ctrl.Options{
		Scheme:                  g.client.Scheme(),
		Metrics:                 metricsserver.Options{BindAddress: "0"},
		Cache:                   cache.Options{DefaultNamespaces: map[string]cache.Config{g.ns: {}}},
		Controller:              config.Controller{SkipNameValidation: &skip},
		GracefulShutdownTimeout: &grace,
	})
	if err == nil {
		err = setupPlant(mgr, announce)
	}
	if err != nil {
		t.Fatalf("set up the controller: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	c := &controller{view: mgr.GetCache(), cancel: cancel, ended: make(chan error, 1)}
	go func() { c.ended <- mgr.Start(ctx) }()
	t.Cleanup(c.stop)
	return c
}

// awaitView returns when the controller's cache has the plant in the given version.
func (c *controller) awaitView(t *testing.T, p *Plant) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 5*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		var seen Plant
		err := c.view.Get(ctx, client.ObjectKeyFromObject(p), &seen)
		return err == nil && seen.ResourceVersion == p.ResourceVersion, client.IgnoreNotFound(err)
	})
	if err != nil {
		t.Fatalf("the controller does not see version %s of %s: %v", p.ResourceVersion, p.Name, err)
	}
}

// stop ends the process and waits until it has ended. A process that was cut off from the API server may end with an
// error; that is what a crash looks like from inside.
func (c *controller) stop() {
	c.cancel()
	if err, open := <-c.ended; open {
		_ = err
		close(c.ended)
	}
}

// sow creates a plant that asks for a job.
func (g *garden) sow(t *testing.T, name string, spec PlantSpec) *Plant {
	t.Helper()
	p := &Plant{
		ObjectMeta: metav1.ObjectMeta{Namespace: g.ns, Name: name, Annotations: map[string]string{operation: string(lsv1alpha1.OperationReconcile)}},
		Spec:       spec,
	}
	if err := g.client.Create(t.Context(), p); err != nil {
		t.Fatalf("sow: %v", err)
	}
	return p
}

func (g *garden) eventually(t *testing.T, p *Plant, phase lsv1alpha1.Phase) *Plant {
	t.Helper()
	return testkit.Eventually(t, g.APIServer, p, func(p *Plant) error {
		if p.Status.Phase != phase || !p.Status.IsFinished() {
			return fmt.Errorf("phase is %q, job %q, finished %q, want %s and finished", p.Status.Phase, p.Status.JobID, p.Status.JobIDFinished, phase)
		}
		return nil
	})
}

// harvested checks the world after one successful job: every pot, one basket of that job, no request.
func (g *garden) harvested(t *testing.T, p *Plant) error {
	t.Helper()
	var all corev1.ConfigMapList
	if err := g.client.List(t.Context(), &all, client.InNamespace(g.ns), client.MatchingLabels{plantLabel: p.Name}); err != nil {
		return err
	}
	pots, baskets := 0, map[string]int{}
	for _, item := range all.Items {
		if job := item.Labels[jobLabel]; job != "" {
			baskets[job]++
		} else {
			pots++
		}
	}
	var errs []error
	if pots != len(p.Spec.Pots) {
		errs = append(errs, fmt.Errorf("%d pots, want %d", pots, len(p.Spec.Pots)))
	}
	if len(baskets) != 1 || baskets[p.Status.JobID] != 1 {
		errs = append(errs, fmt.Errorf("baskets by job %v, want one of job %s", baskets, p.Status.JobID))
	}
	if request, there := p.Annotations[operation]; there {
		errs = append(errs, fmt.Errorf("the request %q is still there", request))
	}
	return errors.Join(errs...)
}
