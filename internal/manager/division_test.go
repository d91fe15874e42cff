// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package manager_test

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	mock "espalier.dev/api/deployer/mock/v1alpha1"
	landscaper "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/manager"
	"espalier.dev/internal/shard"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/faults"
	"espalier.dev/internal/testkit/managed"
)

// nestedBlueprint has a nested installation with a deploy item.
const nestedBlueprint = `apiVersion: landscaper.gardener.cloud/v1alpha1
kind: Blueprint
subinstallations:
- apiVersion: landscaper.gardener.cloud/v1alpha1
  kind: InstallationTemplate
  name: below
  blueprint:
    filesystem:
      blueprint.yaml: |
        apiVersion: landscaper.gardener.cloud/v1alpha1
        kind: Blueprint
        deployExecutions:
        - name: default
          type: GoTemplate
          template: |
            deployItems:
            - name: item
              type: landscaper.gardener.cloud/mock
              config: {apiVersion: mock.deployer.landscaper.gardener.cloud/v1alpha1, kind: ProviderConfiguration}
`

// team is a world in which several processes share the work.
type team struct {
	*managed.World
	processes managed.Processes
}

func newTeam(t *testing.T) *team {
	t.Helper()
	return &team{World: managed.NewWorld(t, managed.SystemNamespace)}
}

// start runs a process for a shard.
func (w *team) start(part string, change ...func(*manager.Options)) *managed.Process {
	w.Helper()
	options := w.Options
	options.Shard = part
	for _, f := range change {
		f(&options)
	}
	return w.processes.Start(w.T, w.Config(), faults.New(faults.Plan{}), options)
}

// root returns an installation with a whole tree below it.
func (w *team) root(name string) *landscaper.Installation {
	return testkit.Installation(w.Namespace, name).Blueprint(nestedBlueprint).Reconcile().Build()
}

// trees returns the root of each object, by resource and name.
func (w *team) trees() map[string]string {
	w.Helper()
	parents := map[string]string{}
	var installations landscaper.InstallationList
	w.list(&installations)
	for _, i := range installations.Items {
		parents[i.Name] = i.Labels[landscaper.EncompassedByLabel]
	}
	rootOf := func(name string) string {
		for parents[name] != "" {
			name = parents[name]
		}
		return name
	}
	trees := map[string]string{}
	for name := range parents {
		trees["installations/"+name] = rootOf(name)
	}
	var executions landscaper.ExecutionList
	w.list(&executions)
	for _, e := range executions.Items {
		trees["executions/"+e.Name] = rootOf(e.OwnerReferences[0].Name)
	}
	var items landscaper.DeployItemList
	w.list(&items)
	for _, i := range items.Items {
		trees["deployitems/"+i.Name] = trees["executions/"+i.Labels[landscaper.ExecutionManagedByLabel]]
	}
	return trees
}

func (w *team) list(list client.ObjectList) {
	w.Helper()
	if err := w.Client().List(w.Context(), list, client.InNamespace(w.Namespace)); err != nil {
		w.Fatal(err)
	}
}

// workers returns, for each tree, how often each process has written to its objects.
func (w *team) workers(trees map[string]string) map[string]map[int]int {
	workers := map[string]map[int]int{}
	for number, log := range w.processes.Logs() {
		for _, entry := range log.Writes() {
			root, ofTree := trees[entry.Resource+"/"+entry.Name]
			if !ofTree {
				continue
			}
			if workers[root] == nil {
				workers[root] = map[int]int{}
			}
			workers[root][number+1]++
		}
	}
	return workers
}

// Two processes share 40 trees: each works on its own trees, from the root to the deploy item.
func TestProcessesShareTheTrees(t *testing.T) {
	const roots = 40
	w := newTeam(t)
	for number := 1; number <= 2; number++ {
		w.start(fmt.Sprintf("%d/2", number))
	}
	for i := range roots {
		w.Create(w.root(fmt.Sprintf("root-%d", i)))
	}
	for i := range roots {
		testkit.EventuallyFinished(t, w.APIServer, w.root(fmt.Sprintf("root-%d", i)), landscaper.PhaseSucceeded)
	}
	trees := w.trees()
	if len(trees) < 4*roots { // the root, the installation below it, its execution and its deploy item
		t.Fatalf("there are %d objects", len(trees))
	}
	workers, counts := w.workers(trees), map[int]int{}
	for i := range roots {
		name := fmt.Sprintf("root-%d", i)
		owner := shard.OwnerOf(shard.Key(w.Namespace, name), 2)
		counts[owner]++
		if len(workers[name]) != 1 || workers[name][owner] == 0 {
			t.Errorf("on the tree of %s, which belongs to shard %d, these have worked: %v", name, owner, workers[name])
		}
	}
	if counts[1] == 0 || counts[2] == 0 {
		t.Errorf("one process has had nothing to do: %v", counts)
	}
}

// electing makes a process wait for its shard. A busy machine must not cost it the lease.
func electing(o *manager.Options) {
	o.LeaderElection = manager.LeaderElection{
		Enabled: true, Namespace: o.Namespaces[0],
		LeaseDuration: 5 * time.Minute, RenewDeadline: 4 * time.Minute, RetryPeriod: 500 * time.Millisecond,
	}
}

// ofShard returns the names of count roots in a shard.
func (w *team) ofShard(part string, count int) []string {
	w.Helper()
	s, err := shard.Parse(part)
	if err != nil {
		w.Fatal(err)
	}
	var names []string
	for i := 0; len(names) < count; i++ {
		if name := fmt.Sprintf("root-%d", i); s.Owns(shard.Key(w.Namespace, name)) {
			names = append(names, name)
		}
	}
	return names
}

// held waits until certain shards are held.
func (w *team) held(summary string) {
	w.Helper()
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: manager.LeaseName}}
	testkit.Eventually(w.T, w.APIServer, lease, testkit.Is(summary, func(l *coordinationv1.Lease) bool {
		return l.Spec.HolderIdentity != nil && *l.Spec.HolderIdentity == summary
	}))
}

// The trees of a process that ends wait for its successor, and no other process touches them.
func TestTreesOfAMissingProcessWait(t *testing.T) {
	w := newTeam(t)
	w.start("1/2", electing)
	second := w.start("2/2", electing)
	w.held("shards 1/2 2/2")
	if err := second.Stop(); err != nil {
		t.Fatal(err)
	}
	w.held("shards 1/2")
	mine, others := w.ofShard("1/2", 2), w.ofShard("2/2", 2)
	for _, name := range append(others, mine...) {
		w.Create(w.root(name))
	}
	for _, name := range mine {
		testkit.EventuallyFinished(t, w.APIServer, w.root(name), landscaper.PhaseSucceeded)
	}
	for _, name := range others {
		waiting := w.root(name)
		if !w.Read(waiting) || waiting.Status.JobID != "" || waiting.Annotations[landscaper.OperationAnnotation] == "" {
			t.Errorf("somebody has begun with %s: %+v", name, waiting.Status)
		}
	}
	w.start("2/2", electing)
	for _, name := range others {
		testkit.EventuallyFinished(t, w.APIServer, w.root(name), landscaper.PhaseSucceeded)
	}
}

// From two to three processes, as in a rolling update: the new ones wait, and then take over all trees. Nothing is lost or done twice.
func TestAnotherNumberOfProcessesTakesOver(t *testing.T) {
	const roots = 12
	w := newTeam(t)
	var old []*managed.Process
	for number := 1; number <= 2; number++ {
		old = append(old, w.start(fmt.Sprintf("%d/2", number), electing))
	}
	w.held("shards 1/2 2/2")
	for number := 1; number <= 3; number++ {
		w.start(fmt.Sprintf("%d/3", number), electing)
	}
	jobs := testkit.Record(t, w.APIServer, w.Namespace, testkit.Kinds(&landscaper.Installation{}, &landscaper.DeployItem{}))
	for i := range roots {
		w.Create(w.root(fmt.Sprintf("root-%d", i)))
	}
	testkit.EventuallyFinished(t, w.APIServer, w.root("root-0"), landscaper.PhaseSucceeded)
	for _, process := range old {
		if err := process.Stop(); err != nil {
			t.Fatal(err)
		}
	}
	for i := range roots {
		testkit.EventuallyFinished(t, w.APIServer, w.root(fmt.Sprintf("root-%d", i)), landscaper.PhaseSucceeded)
	}
	w.held("shards 1/3 2/3 3/3")
	for id, history := range jobs.History().Objects() {
		var begun []string
		for _, job := range history.Transitions("status.jobID") {
			if job != "" {
				begun = append(begun, job)
			}
		}
		if len(begun) != 1 {
			t.Errorf("%s has had the jobs %v", id, begun)
		}
	}
	// From now on, each new process works alone on its trees.
	before := w.processes.Logs()
	for i := range roots {
		w.Patch(w.root(fmt.Sprintf("root-%d", i)), `{"metadata":{"annotations":{"landscaper.gardener.cloud/operation":"reconcile"}}}`)
	}
	for i := range roots {
		testkit.EventuallyFinished(t, w.APIServer, w.root(fmt.Sprintf("root-%d", i)), landscaper.PhaseSucceeded)
	}
	trees := w.trees()
	for number, log := range w.processes.Logs() {
		for _, entry := range log[len(before[number]):].Writes() {
			root, ofTree := trees[entry.Resource+"/"+entry.Name]
			if ofTree && shard.OwnerOf(shard.Key(w.Namespace, root), 3) != number-1 {
				t.Errorf("process %d, of shard %d/3, writes to the tree of %s: %s", number+1, number-1, root, entry)
			}
		}
	}
}

// Objects outside trees also belong to one process: those created by hand, and those of other kinds.
func TestWhatIsInNoTreeBelongsToOneProcess(t *testing.T) {
	w := newTeam(t)
	for number := 1; number <= 2; number++ {
		w.start(fmt.Sprintf("%d/2", number))
	}
	item := testkit.DeployItem(w.Namespace, "by-hand").Mock(mock.ProviderConfiguration{}).Build()
	w.Create(item)
	w.PatchStatus(item, `{"status":{"jobID":"one"}}`)
	testkit.EventuallyFinished(t, w.APIServer, item, landscaper.PhaseSucceeded)
	workers := w.workers(map[string]string{"deployitems/by-hand": "by-hand"})["by-hand"]
	owner := shard.OwnerOf(shard.Key(w.Namespace, "by-hand"), 2)
	if len(workers) != 1 || workers[owner] == 0 {
		t.Errorf("the deploy item belongs to shard %d, and these have worked on it: %v", owner, workers)
	}
}

// Elected is closed for a process with a shard; a process that waits for one is nevertheless ready.
func TestWhoWaitsForAShardIsNotElected(t *testing.T) {
	w := newTeam(t)
	w.start("1/2", electing)
	w.start("2/2", electing)
	w.held("shards 1/2 2/2")
	third := w.start("3/3", electing)
	looked := func(context.Context) (bool, error) {
		return len(third.Transport.Log().Where(func(e faults.Entry) bool { return e.Resource == "leases" && e.Status == http.StatusOK })) > 1, nil
	}
	if err := wait.PollUntilContextTimeout(t.Context(), 10*time.Millisecond, testkit.Patience, true, looked); err != nil {
		t.Fatalf("it does not look at the Lease: %v", err)
	}
	select {
	case <-third.Manager.Elected():
		t.Error("it works beside those whose trees it takes")
	default:
	}
}
