// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package executions_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/controller/executions"
	"espalier.dev/internal/execution"
	"espalier.dev/internal/testkit"
)

func TestMain(m *testing.M) { testkit.MainWithOthers(m) }

// stage is a namespace with a deployer that follows a script.
type stage struct {
	*testkit.APIServer
	ns     string
	client client.WithWatch

	mutex   sync.Mutex
	scripts map[string]script
}

// script is what the deployer does with a deploy item. The zero value succeeds at once.
type script struct {
	// hold leaves the item alone until the test finishes it.
	hold bool
	// fail is the message of the error that it fails with; failDelete the same for its deletion.
	fail, failDelete string
	// export is what it exports.
	export string
}

// newStage lets a test run in parallel with the others: each has its own namespace.
func newStage(t *testing.T) *stage {
	t.Helper()
	t.Parallel()
	s := newEmptyStage(t)
	s.hireDeployer(t)
	return s
}

// newEmptyStage is a stage without a deployer.
func newEmptyStage(t *testing.T) *stage {
	t.Helper()
	server := testkit.Server(t)
	return &stage{APIServer: server, ns: server.Namespace(t), client: server.Client(), scripts: map[string]script{}}
}

func (s *stage) script(item string, does script) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.scripts[item] = does
}

func (s *stage) scriptOf(item *lsv1alpha1.DeployItem) script {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.scripts[item.Labels[lsv1alpha1.ExecutionManagedNameLabel]]
}

// hireDeployer runs a deployer that works on each item with an unfinished job, through a connection without faults.
func (s *stage) hireDeployer(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	events, err := s.client.Watch(ctx, &lsv1alpha1.DeployItemList{}, client.InNamespace(s.ns))
	if err != nil {
		t.Fatalf("watch the deploy items: %v", err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for e := range events.ResultChan() {
			item, ok := e.Object.(*lsv1alpha1.DeployItem)
			if !ok || e.Type == watch.Deleted || item.Status.IsFinished() || s.scriptOf(item).hold {
				continue
			}
			if err := s.perform(ctx, item); err != nil && ctx.Err() == nil {
				t.Errorf("deploy %s: %v", item.Name, err)
			}
		}
	}()
	t.Cleanup(func() { cancel(); <-done })
}

// perform does with an item what its script says. It yields to whoever has changed the item meanwhile.
func (s *stage) perform(ctx context.Context, item *lsv1alpha1.DeployItem) error {
	err := s.attempt(ctx, item)
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

func (s *stage) attempt(ctx context.Context, item *lsv1alpha1.DeployItem) error {
	does := s.scriptOf(item)
	deleting := !item.DeletionTimestamp.IsZero()
	switch {
	case deleting && does.failDelete != "":
		return s.end(ctx, item, lsv1alpha1.PhaseDeleteFailed, does.failDelete)
	case deleting:
		return s.client.Patch(ctx, item, client.RawPatch(types.MergePatchType,
			fmt.Appendf(nil, `{"metadata":{"finalizers":null,"resourceVersion":%q}}`, item.ResourceVersion)))
	case does.fail != "":
		return s.end(ctx, item, lsv1alpha1.PhaseFailed, does.fail)
	default:
		return s.deploy(ctx, item, does)
	}
}

func (s *stage) deploy(ctx context.Context, item *lsv1alpha1.DeployItem, does script) error {
	if does.export == "" {
		return s.end(ctx, item, lsv1alpha1.PhaseSucceeded, "")
	}
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.ns, Name: item.Name + "-export"},
		Data:       map[string][]byte{lsv1alpha1.ExportSecretKey: []byte(does.export)},
	}
	err := s.client.Create(ctx, secret)
	if apierrors.IsAlreadyExists(err) {
		err = s.client.Update(ctx, secret)
	}
	if err != nil {
		return err
	}
	item.Status.ExportReference = &lsv1alpha1.ObjectReference{Name: secret.Name, Namespace: s.ns}
	return s.end(ctx, item, lsv1alpha1.PhaseSucceeded, "")
}

// end is the last write of a deployer.
func (s *stage) end(ctx context.Context, item *lsv1alpha1.DeployItem, phase lsv1alpha1.Phase, problem string) error {
	status := map[string]any{"phase": phase, "jobIDFinished": item.Status.JobID, "lastError": nil}
	if item.Status.ExportReference != nil {
		status["exportRef"] = item.Status.ExportReference
	}
	if problem != "" {
		now := metav1.NewTime(time.Now())
		status["lastError"] = lsv1alpha1.Error{
			Operation: "Deploy", Reason: "Scripted", Message: problem, Codes: []lsv1alpha1.ErrorCode{lsv1alpha1.ErrorTimeout},
			LastTransitionTime: now, LastUpdateTime: now,
		}
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]string{"resourceVersion": item.ResourceVersion}, "status": status})
	if err != nil {
		return err
	}
	return s.client.Status().Patch(ctx, item, client.RawPatch(types.MergePatchType, patch))
}

// finish makes the deployer finish an item that it held.
func (s *stage) finish(t *testing.T, e *lsv1alpha1.Execution, name string, does script) {
	t.Helper()
	item := s.started(t, e, name)
	s.script(name, does)
	err := s.attempt(t.Context(), item)
	for apierrors.IsConflict(err) { // The item has changed since, and its event may have arrived before the new script.
		if err = s.client.Get(t.Context(), client.ObjectKeyFromObject(item), item); err == nil && !item.Status.IsFinished() {
			err = s.attempt(t.Context(), item)
		}
	}
	if client.IgnoreNotFound(err) != nil {
		t.Fatalf("finish %s: %v", name, err)
	}
}

// started waits until an item has the current job of the execution and has not finished it.
func (s *stage) started(t *testing.T, e *lsv1alpha1.Execution, name string) *lsv1alpha1.DeployItem {
	t.Helper()
	return testkit.Eventually(t, s.APIServer, s.item(e, name), testkit.Is("started", func(i *lsv1alpha1.DeployItem) bool {
		return i.Status.JobID != "" && !i.Status.IsFinished()
	}))
}

// item is a stub with the object name of an item.
func (s *stage) item(e *lsv1alpha1.Execution, name string) *lsv1alpha1.DeployItem {
	return &lsv1alpha1.DeployItem{ObjectMeta: metav1.ObjectMeta{Namespace: s.ns, Name: execution.ItemName(e.Name, name)}}
}

// items returns the objects in the namespace by item name.
func (s *stage) items(t *testing.T) map[string]lsv1alpha1.DeployItem {
	t.Helper()
	var all lsv1alpha1.DeployItemList
	if err := s.client.List(t.Context(), &all, client.InNamespace(s.ns)); err != nil {
		t.Fatal(err)
	}
	items := map[string]lsv1alpha1.DeployItem{}
	for _, item := range all.Items {
		items[item.Labels[lsv1alpha1.ExecutionManagedNameLabel]] = item
	}
	if len(items) != len(all.Items) {
		t.Errorf("%d deploy items with %d names: %v", len(all.Items), len(items), slices.Sorted(maps.Keys(items)))
	}
	return items
}

type manager = ctrl.Manager

// start runs a controller of executions over the given connection. A controller that was cut off from the API server may end with an
// error: that is what a crash looks like from inside.
func (s *stage) start(t *testing.T, cfg *rest.Config) *testkit.Process { return s.startWith(t, cfg) }

// startWith also runs other controllers in the same process.
func (s *stage) startWith(t *testing.T, cfg *rest.Config, others ...func(manager) error) *testkit.Process {
	t.Helper()
	mgr := testkit.NewManager(t, cfg, s.ns, testkit.ShortGrace, func(o *ctrl.Options) {
		o.Cache.DefaultTransform = cache.TransformStripManagedFields()
	})
	err := executions.Setup(mgr, executions.Options{Workers: 2})
	for _, setup := range others {
		if err == nil {
			err = setup(mgr)
		}
	}
	if err != nil {
		t.Fatalf("set up the controller: %v", err)
	}
	p := testkit.Start(t.Context(), mgr.Start)
	t.Cleanup(func() { _ = p.Stop() })
	return p
}

// run starts a new job of an execution by hand.
func (s *stage) run(t *testing.T, e *lsv1alpha1.Execution) *lsv1alpha1.Execution {
	t.Helper()
	patch := fmt.Appendf(nil, `{"status":{"jobID":%q}}`, uuid.NewString())
	if err := s.client.Status().Patch(t.Context(), e, client.RawPatch(types.MergePatchType, patch)); err != nil {
		t.Fatalf("start a job of %s: %v", e.Name, err)
	}
	return e
}

// launch creates an execution and starts its first job.
func (s *stage) launch(t *testing.T, e *lsv1alpha1.Execution) *lsv1alpha1.Execution {
	t.Helper()
	testkit.Create(t, s.APIServer, e)
	return s.run(t, e)
}

// finished waits until the execution has finished its job in a phase.
func (s *stage) finished(t *testing.T, e *lsv1alpha1.Execution, phase lsv1alpha1.Phase) *lsv1alpha1.Execution {
	t.Helper()
	return testkit.EventuallyFinished(t, s.APIServer, e, phase)
}
