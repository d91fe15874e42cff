// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package execution_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/execution"
	"espalier.dev/internal/run"
)

// world is an API server with one execution, a deployer, and a controller whose view of the deploy items may be stale. It checks the
// invariants on each write.
type world struct {
	random *rand.Rand
	now    time.Time

	execution *lsv1alpha1.Execution // nil once it is gone
	// history contains the deploy items after each write; the last entry is the truth, seen is what the cache shows.
	history []map[string]*lsv1alpha1.DeployItem
	seen    int
	// own is the position of the controller's last write in the history.
	own     int
	version int
	// outcomes says which items fail, failsDelete which cannot be deleted.
	outcomes, failsDelete map[string]bool
	// asleep says that no deployer works any more.
	asleep bool
	// started are the items that were started in each job.
	started    map[string][]string
	violations []error
}

var (
	errConflict = errors.New("conflict")
	errCrash    = errors.New("crash")
)

func newWorld(seed uint64, e *lsv1alpha1.Execution) *world {
	return &world{
		random: rand.New(rand.NewPCG(seed, 1)), now: noon, execution: e, started: map[string][]string{},
		history: []map[string]*lsv1alpha1.DeployItem{{}}, outcomes: map[string]bool{}, failsDelete: map[string]bool{},
	}
}

func (w *world) violated(format string, args ...any) {
	w.violations = append(w.violations, fmt.Errorf(format, args...))
}

func (w *world) items() map[string]*lsv1alpha1.DeployItem { return w.history[len(w.history)-1] }

// write changes one deploy item: nil deletes it.
func (w *world) write(name string, item *lsv1alpha1.DeployItem) {
	next := maps.Clone(w.items())
	w.version++
	if item == nil {
		delete(next, name)
	} else {
		item.ResourceVersion = strconv.Itoa(w.version)
		next[name] = item
	}
	w.history = append(w.history, next)
}

// catchUp makes the cache see some or all of the changes.
func (w *world) catchUp(all bool) {
	behind := len(w.history) - 1 - w.seen
	if all {
		w.seen += behind
	} else if behind > 0 {
		w.seen += w.random.IntN(behind + 1)
	}
}

func (w *world) snapshot() execution.Snapshot {
	e := w.execution.DeepCopy()
	s := execution.Snapshot{Execution: e, Now: w.now, Remembered: w.seen >= w.own}
	for _, item := range w.history[w.seen] {
		s.Items = append(s.Items, *item.DeepCopy())
	}
	o := execution.NewObserved(s)
	if !o.Removing() {
		w.findRecorded(&s)
		o = execution.NewObserved(s)
	}
	if execution.NeedsComplete(o) {
		s.Items, s.Complete = nil, true
		for _, item := range w.items() {
			s.Items = append(s.Items, *item.DeepCopy())
		}
		o = execution.NewObserved(s)
	}
	if execution.NeedsExports(o) {
		s.ExportsRead, s.Exports = true, map[string][]byte{}
		for name := range execution.ExportSecrets(s) {
			s.Exports[name] = []byte("from: " + name)
		}
	}
	return s
}

func (w *world) findRecorded(s *execution.Snapshot) {
	for _, name := range execution.Recorded(s.Execution) {
		if slices.ContainsFunc(s.Items, func(i lsv1alpha1.DeployItem) bool { return i.Name == name }) {
			continue
		}
		if item := w.items()[name]; item != nil {
			s.Items = append(s.Items, *item.DeepCopy())
		} else {
			s.Gone = append(s.Gone, name)
		}
	}
}

// pass does what the loop does with an execution. With some probability, the process dies in the middle, or the status is not stored yet
// where it may lag.
func (w *world) pass(crashes bool) {
	w.now = w.now.Add(time.Second)
	s := w.snapshot()
	e, o := s.Execution, execution.NewObserved(s)
	for range 32 {
		d := execution.Decide(o)
		var err error
		for _, effect := range d.Do {
			if crashes && w.random.IntN(12) == 0 {
				return
			}
			var written map[string]execution.Object
			if written, err = w.act(e, effect, crashes); err != nil {
				break
			}
			o = execution.After(o, effect, written)
		}
		if errors.Is(err, errCrash) {
			return
		}
		if !errors.Is(err, errConflict) {
			o = execution.Settle(e, o, d, err)
		}
		if d.DeferStatusWrite && err == nil && crashes && w.random.IntN(2) == 0 {
			return
		}
		if err != nil || d.Wait {
			w.store(e)
			return
		}
	}
	w.violated("a pass does not end")
}

// store is the status write at the end of a pass.
func (w *world) store(e *lsv1alpha1.Execution) {
	if w.execution == nil {
		return
	}
	before := w.execution.Status
	w.execution.Status = e.Status
	if before.IsFinished() || !e.Status.IsFinished() {
		return
	}
	if !e.Status.Phase.IsFinal() {
		w.violated("job %s finishes in phase %s", e.Status.JobID, e.Status.Phase)
	}
	for _, item := range w.items() {
		if item.Status.JobID == e.Status.JobID && !item.Status.IsFinished() {
			w.violated("the execution has finished job %s, and %s has not", e.Status.JobID, item.Name)
		}
	}
}

func (w *world) act(e *lsv1alpha1.Execution, effect execution.Effect, crashes bool) (map[string]execution.Object, error) {
	switch x := effect.(type) {
	case execution.Refuse:
		return nil, x.Err
	case execution.AddFinalizer:
		w.execution.Finalizers = append(w.execution.Finalizers, lsv1alpha1.Finalizer)
		return nil, nil
	case execution.RemoveFinalizer:
		w.release()
		return nil, nil
	case execution.AcceptInterrupt:
		execution.AnnotateInterrupted(e, w.execution.Annotations, x.JobID)
		return nil, nil
	case execution.DropInterrupt:
		execution.AnnotateInterrupted(e, w.execution.Annotations, "")
		return nil, nil
	case execution.WriteExport, execution.RemoveExport:
		return nil, nil
	default:
		return w.actOnEach(e, effect, crashes)
	}
}

func (w *world) release() {
	if len(w.items()) > 0 {
		w.violated("the execution goes, and %v exist", slices.Sorted(maps.Keys(w.items())))
	}
	w.execution = nil
}

func (w *world) actOnEach(e *lsv1alpha1.Execution, effect execution.Effect, crashes bool) (map[string]execution.Object, error) {
	written := map[string]execution.Object{}
	for _, item := range itemsOf(effect) {
		if crashes && w.random.IntN(20) == 0 {
			return nil, errCrash
		}
		object, err := w.actOn(e, item, effect)
		if err != nil {
			return nil, err
		}
		w.own = len(w.history) - 1
		written[object.Name] = execution.Object{Name: object.Name, UID: object.UID, Version: object.ResourceVersion}
	}
	return written, nil
}

func itemsOf(effect execution.Effect) []execution.Item {
	switch x := effect.(type) {
	case execution.InterruptItems:
		return x.Items
	case execution.CreateItems:
		return x.Items
	case execution.UpdateItems:
		return x.Items
	case execution.KeepDeployed:
		return x.Items
	case execution.TellItems:
		return x.Items
	case execution.DeleteItems:
		return x.Items
	case execution.TriggerItems:
		return x.Items
	}
	return nil
}

// actOn executes an effect on one object, as the API server would.
func (w *world) actOn(e *lsv1alpha1.Execution, item execution.Item, effect execution.Effect) (*lsv1alpha1.DeployItem, error) {
	if _, create := effect.(execution.CreateItems); create {
		return w.create(item)
	}
	current := w.items()[item.Object.Name]
	if current == nil || current.UID != item.Object.UID {
		return nil, errConflict
	}
	object := current.DeepCopy()
	if _, anyVersion := effect.(execution.DeleteItems); !anyVersion && current.ResourceVersion != item.Object.Version {
		return nil, errConflict
	}
	switch x := effect.(type) {
	case execution.UpdateItems:
		if current.Spec.Type != item.Write.Spec.Type || current.Status.JobID == e.Status.JobID {
			w.violated("%s is updated in job %s with type %s", object.Name, e.Status.JobID, item.Write.Spec.Type)
		}
		object = item.Write.DeepCopy()
		object.Status = current.Status
	case execution.KeepDeployed:
		object.Annotations[lsv1alpha1.DeleteWithoutUninstallAnnotation] = "true"
	case execution.TellItems:
		object.Annotations[run.DeletionAnnotation] = string(object.UID)
	case execution.InterruptItems:
		object.Status = *item.CutShort.DeepCopy()
	case execution.TriggerItems:
		w.checkStart(e, object, x.JobID)
		object.Status.JobID = x.JobID
	case execution.DeleteItems:
		return w.delete(object)
	}
	w.write(object.Name, object)
	return object, nil
}

func (w *world) create(item execution.Item) (*lsv1alpha1.DeployItem, error) {
	object := item.Write.DeepCopy()
	if w.items()[object.Name] != nil {
		return nil, errConflict
	}
	for _, other := range w.items() {
		if other.Labels[lsv1alpha1.ExecutionManagedNameLabel] == item.Name {
			w.violated("%s is created, and %s exists", object.Name, other.Name)
		}
	}
	object.UID = types.UID(fmt.Sprintf("uid-%d", w.version))
	w.write(object.Name, object)
	return object, nil
}

// checkStart checks that an item starts when everything that it depends on has succeeded in this job, and that an item which is being
// deleted starts when nothing that depends on it is left.
func (w *world) checkStart(e *lsv1alpha1.Execution, object *lsv1alpha1.DeployItem, jobID string) {
	name := object.Labels[lsv1alpha1.ExecutionManagedNameLabel]
	if !object.Status.IsFinished() {
		w.violated("%s gets a job while it works on another", name)
	}
	if !object.DeletionTimestamp.IsZero() {
		w.checkUnneeded(object)
		return
	}
	w.started[jobID] = append(w.started[jobID], name)
	for _, needed := range strings.Split(object.Annotations[lsv1alpha1.ExecutionDependsOnAnnotation], ",") {
		if needed == "" {
			continue
		}
		other := w.items()[execution.ItemName(e.Name, needed)]
		if other == nil || other.Status.JobIDFinished != jobID || other.Status.Phase != lsv1alpha1.PhaseSucceeded {
			w.violated("%s is started before %s has succeeded", name, needed)
		}
	}
}

func (w *world) checkUnneeded(object *lsv1alpha1.DeployItem) {
	if w.execution.DeletionTimestamp.IsZero() || w.ambiguous() {
		return
	}
	name := object.Labels[lsv1alpha1.ExecutionManagedNameLabel]
	for _, other := range w.items() {
		if slices.Contains(strings.Split(other.Annotations[lsv1alpha1.ExecutionDependsOnAnnotation], ","), name) {
			w.violated("%s goes before %s, which depends on it", name, other.Name)
		}
	}
}

// ambiguous reports whether the objects contradict each other about the order, as they may between two updates.
func (w *world) ambiguous() bool {
	left := map[string][]string{}
	for _, item := range w.items() {
		left[item.Labels[lsv1alpha1.ExecutionManagedNameLabel]] = strings.Split(item.Annotations[lsv1alpha1.ExecutionDependsOnAnnotation], ",")
	}
	for changed := true; changed; {
		changed = false
		for name, needs := range left {
			if !slices.ContainsFunc(needs, func(n string) bool { _, there := left[n]; return there }) {
				delete(left, name)
				changed = true
			}
		}
	}
	return len(left) > 0
}

func (w *world) delete(object *lsv1alpha1.DeployItem) (*lsv1alpha1.DeployItem, error) {
	w.checkUnneeded(object)
	if object.DeletionTimestamp.IsZero() {
		at := metav1.NewTime(w.now)
		object.DeletionTimestamp = &at
		w.write(object.Name, object)
	}
	return object, nil
}

// deploy finishes one of the items with an unfinished job, as a deployer would. It reports whether there was one.
func (w *world) deploy() bool {
	var busy []*lsv1alpha1.DeployItem
	for _, name := range slices.Sorted(maps.Keys(w.items())) {
		if item := w.items()[name]; !item.Status.IsFinished() {
			busy = append(busy, item.DeepCopy())
		}
	}
	if len(busy) == 0 || w.asleep {
		return false
	}
	item := busy[w.random.IntN(len(busy))]
	name := item.Labels[lsv1alpha1.ExecutionManagedNameLabel]
	item.Status.JobIDFinished = item.Status.JobID
	switch {
	case !item.DeletionTimestamp.IsZero() && w.failsDelete[name]:
		item.Status.Phase = lsv1alpha1.PhaseDeleteFailed
	case !item.DeletionTimestamp.IsZero():
		w.write(item.Name, nil)
		return true
	case w.outcomes[name]:
		item.Status.Phase = lsv1alpha1.PhaseFailed
	default:
		item.Status.Phase = lsv1alpha1.PhaseSucceeded
	}
	w.write(item.Name, item)
	return true
}

// settle lets all parts work until nothing happens any more.
func (w *world) settle() {
	for range 2000 {
		if w.execution == nil {
			return
		}
		switch w.random.IntN(4) {
		case 0:
			w.catchUp(false)
		case 1:
			w.deploy()
		default:
			w.pass(true)
		}
		if w.random.IntN(25) > 0 {
			continue
		}
		w.catchUp(true)
		if w.calm() {
			return
		}
	}
	w.violated("it does not come to rest: %+v", w.execution.Status)
}

// calm reports whether no unfinished job is left. It makes one pass, which then changes nothing.
func (w *world) calm() bool {
	if w.execution != nil {
		w.pass(false)
	}
	if w.execution == nil {
		return true
	}
	return w.execution.Status.IsFinished() && !w.deploy()
}

// request starts a new job.
func (w *world) request(id string) { w.execution.Status.JobID = id }

func template(name string, dependsOn ...string) lsv1alpha1.DeployItemTemplate {
	return lsv1alpha1.DeployItemTemplate{
		Name: name, Type: lsv1alpha1.DeployItemTypeMock, DependsOn: dependsOn,
		Configuration: &runtime.RawExtension{Raw: []byte(`{"apiVersion":"v1","kind":"C"}`)},
	}
}

func newExecution(items ...lsv1alpha1.DeployItemTemplate) *lsv1alpha1.Execution {
	return &lsv1alpha1.Execution{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "app", UID: "uid-app", Generation: 1, Annotations: map[string]string{}},
		Spec:       lsv1alpha1.ExecutionSpec{DeployItems: items},
	}
}
