// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package deployer_test

import (
	"context"
	"encoding/json"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/deployer"
	"espalier.dev/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

const itemType lsv1alpha1.DeployItemType = "example.org/scripted"

// scripted is a deployer that does what the test says, and counts.
type scripted struct {
	intend         func(context.Context, deployer.Work) (runtime.Object, error)
	deploy, remove func(context.Context, deployer.Work) (deployer.Progress, error)

	mu    sync.Mutex
	calls map[string]int
}

func (s *scripted) Type() lsv1alpha1.DeployItemType { return itemType }

func (s *scripted) Intend(ctx context.Context, work deployer.Work) (runtime.Object, error) {
	if s.intend == nil {
		return nil, nil
	}
	return s.intend(ctx, work)
}

func (s *scripted) Deploy(ctx context.Context, work deployer.Work) (deployer.Progress, error) {
	s.count("deploy " + work.Item.Name)
	return do(ctx, s.deploy, work)
}

func (s *scripted) Delete(ctx context.Context, work deployer.Work) (deployer.Progress, error) {
	s.count("delete " + work.Item.Name)
	return do(ctx, s.remove, work)
}

func do(
	ctx context.Context,
	f func(context.Context, deployer.Work) (deployer.Progress, error),
	work deployer.Work,
) (deployer.Progress, error) {
	if f == nil {
		return deployer.Progress{Done: true}, nil
	}
	return f(ctx, work)
}

func (s *scripted) count(call string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.calls == nil {
		s.calls = map[string]int{}
	}
	s.calls[call]++
}

func (s *scripted) counted(call string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls[call]
}

// world is a namespace on the test server.
type world struct {
	*testkit.APIServer
	t  *testing.T
	ns string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	server := testkit.Server(t)
	return &world{APIServer: server, t: t, ns: server.Namespace(t)}
}

// run runs a deployer for the namespace until the test ends or the function that it returns is called.
func (w *world) run(d deployer.Deployer, opts deployer.Options) (stop func()) {
	w.t.Helper()
	return w.runOver(w.Config(), d, opts)
}

func (w *world) runOver(connection *rest.Config, d deployer.Deployer, opts deployer.Options) (stop func()) {
	w.t.Helper()
	again := true
	mgr, err := ctrl.NewManager(connection, ctrl.Options{
		Scheme:     w.Client().Scheme(),
		Metrics:    metricsserver.Options{BindAddress: "0"},
		Cache:      cache.Options{DefaultNamespaces: map[string]cache.Config{w.ns: {}}},
		Controller: config.Controller{SkipNameValidation: &again},
	})
	if opts.Name == "" {
		opts.Name = "deployer-scripted"
	}
	opts.Workers = 2
	if err == nil {
		err = deployer.Setup(mgr, d, opts)
	}
	if err != nil {
		w.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(w.t.Context())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			w.t.Error(err)
		}
	})
	w.t.Cleanup(stop)
	return stop
}

// item creates a deploy item of the scripted type and starts its first job, as its parent or a user would.
func (w *world) item(name string, change ...func(*lsv1alpha1.DeployItem)) *lsv1alpha1.DeployItem {
	w.t.Helper()
	item := testkit.DeployItem(w.ns, name).Config(itemType, map[string]any{"apiVersion": "example.org/v1", "kind": "Config"}).Build()
	for _, c := range change {
		c(item)
	}
	testkit.Create(w.t, w.APIServer, item)
	w.begin(item, "first")
	return item
}

func on(target string) func(*lsv1alpha1.DeployItem) {
	return func(item *lsv1alpha1.DeployItem) {
		item.Spec.Target = &lsv1alpha1.ObjectReference{Name: target, Namespace: item.Namespace}
	}
}

// begin starts a job of an item by its ID alone.
func (w *world) begin(item *lsv1alpha1.DeployItem, job string) {
	w.t.Helper()
	w.setStatus(item, map[string]any{"jobID": job})
}

func (w *world) setStatus(item *lsv1alpha1.DeployItem, status map[string]any) {
	w.t.Helper()
	patch, err := json.Marshal(map[string]any{"status": status})
	if err == nil {
		err = w.Client().Status().Patch(w.t.Context(), item, client.RawPatch(types.MergePatchType, patch))
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

// delete deletes an item and starts the job that does it.
func (w *world) delete(item *lsv1alpha1.DeployItem, job string) {
	w.t.Helper()
	if err := w.Client().Delete(w.t.Context(), item); err != nil {
		w.t.Fatal(err)
	}
	w.begin(item, job)
}

func (w *world) succeeds(item *lsv1alpha1.DeployItem) *lsv1alpha1.DeployItem {
	w.t.Helper()
	return testkit.EventuallyFinished(w.t, w.APIServer, item, lsv1alpha1.PhaseSucceeded)
}

func (w *world) fails(item *lsv1alpha1.DeployItem) *lsv1alpha1.DeployItem {
	w.t.Helper()
	return testkit.EventuallyFinished(w.t, w.APIServer, item, lsv1alpha1.PhaseFailed)
}

// waits waits until the item shows that it waits for a certain reason.
func (w *world) waits(item *lsv1alpha1.DeployItem, reason string) *lsv1alpha1.DeployItem {
	w.t.Helper()
	return testkit.Eventually(w.t, w.APIServer, item, testkit.Is("waiting with reason "+reason, func(i *lsv1alpha1.DeployItem) bool {
		for _, c := range i.Status.Conditions {
			if c.Type == lsv1alpha1.ConditionReconciling && c.Reason == reason {
				return true
			}
		}
		return false
	}))
}
