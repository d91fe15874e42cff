// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package deployer_test

import (
	"context"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/deployer"
	"espalier.dev/internal/testkit"
)

func TestMain(m *testing.M) { testkit.MainWithOthers(m) }

const itemType lsv1alpha1.DeployItemType = "example.org/scripted"

// scripted is a deployer that does what the test says, and counts calls.
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

// world is a namespace with deployers.
type world struct{ *testkit.World }

func newWorld(t *testing.T) *world {
	t.Helper()
	return &world{testkit.NewWorld(t)}
}

// run runs a deployer for the namespace until the test ends or the function that it returns is called.
func (w *world) run(d deployer.Deployer, opts deployer.Options) (stop func()) {
	w.Helper()
	return w.runOver(w.Config(), d, opts)
}

func (w *world) runOver(connection *rest.Config, d deployer.Deployer, opts deployer.Options) (stop func()) {
	w.Helper()
	mgr := testkit.NewManager(w.T, connection, w.Namespace)
	if opts.Name == "" {
		opts.Name = "deployer-scripted"
	}
	opts.Workers = 2
	if err := deployer.Setup(mgr, d, opts); err != nil {
		w.Fatal(err)
	}
	return testkit.Run(w.T, mgr.Start)
}

// item creates a deploy item of the scripted type and starts its first job, as its parent or a user would.
func (w *world) item(name string, change ...func(*lsv1alpha1.DeployItem)) *lsv1alpha1.DeployItem {
	w.Helper()
	item := testkit.DeployItem(w.Namespace, name).Config(itemType, map[string]any{"apiVersion": "example.org/v1", "kind": "Config"}).Build()
	for _, c := range change {
		c(item)
	}
	w.Create(item)
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
	w.Helper()
	w.SetStatus(item, map[string]any{"jobID": job})
}

// delete deletes an item and starts the deletion job.
func (w *world) delete(item *lsv1alpha1.DeployItem, job string) {
	w.Helper()
	w.Delete(item)
	w.begin(item, job)
}

func (w *world) succeeds(item *lsv1alpha1.DeployItem) *lsv1alpha1.DeployItem {
	w.Helper()
	return testkit.EventuallyFinished(w.T, w.APIServer, item, lsv1alpha1.PhaseSucceeded)
}

func (w *world) fails(item *lsv1alpha1.DeployItem) *lsv1alpha1.DeployItem {
	w.Helper()
	return testkit.EventuallyFinished(w.T, w.APIServer, item, lsv1alpha1.PhaseFailed)
}

// waits waits until the status shows that the item waits for the given reason.
func (w *world) waits(item *lsv1alpha1.DeployItem, reason string) *lsv1alpha1.DeployItem {
	w.Helper()
	return testkit.Eventually(w.T, w.APIServer, item, testkit.Is("waiting with reason "+reason, func(i *lsv1alpha1.DeployItem) bool {
		for _, c := range i.Status.Conditions {
			if c.Type == lsv1alpha1.ConditionReconciling && c.Reason == reason {
				return true
			}
		}
		return false
	}))
}
