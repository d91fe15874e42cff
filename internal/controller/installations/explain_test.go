// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package installations_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/execution"
	"espalier.dev/internal/explain"
	"espalier.dev/internal/manager"
	"espalier.dev/internal/objecttree"
	"espalier.dev/internal/testkit"
)

// explained is a state that objects stay in, and what is said of each object that is not done: its reason, and "(status)" if only its
// status can tell why.
type explained struct {
	quotas manager.QuotaOptions
	reach  func(*world)
	want   []string
}

// The command line decides as the controllers do: from objects whose statuses do not say what they wait for, it concludes what the
// controllers have written there.
func TestWhyDecidesAsTheControllersDo(t *testing.T) {
	for _, states := range []map[string]explained{explainedJobs, explainedUpdates} {
		for name, state := range states {
			t.Run(name, func(t *testing.T) {
				w := limitedWorld(t, state.quotas)
				state.reach(w)
				w.decidesAlike(state.want...)
			})
		}
	}
}

var exporting = header + exports("word: water", "word")

var explainedJobs = map[string]explained{
	"of siblings": {
		reach: func(w *world) {
			w.create(w.installation("giver", exporting+deploy(item("one", endless))).ExportData("word", "word").Reconcile().Build())
			w.works("giver")
			w.create(w.installation("taker", header+imports("word")).ImportData("word", "word").Reconcile().Build())
		},
		want: []string{
			"DeployItem one: WaitingForReadiness (status)", "Execution giver: WaitingForSubObjects",
			"Installation giver: WaitingForSubObjects", "Installation taker: WaitingForPredecessors",
		},
	},
	"of nested installations, one of which is suspended in vain": {
		reach: func(w *world) {
			w.create(w.installation("root", header+nest(
				sub{name: "first", blueprint: exporting + deploy(item("one", endless)), exports: map[string]string{"word": "word"}},
				sub{name: "second", blueprint: header + imports("word"), imports: map[string]string{"word": "word"}},
			)).Reconcile().Build())
			w.works("root")
			w.annotate(w.nested("root", "first").Name, lsv1alpha1.SuspendAnnotation, "true")
		},
		want: []string{
			"DeployItem one: WaitingForReadiness (status)", "Execution first: WaitingForSubObjects", "Installation first: WaitingForSubObjects",
			"Installation root: WaitingForSubObjects", "Installation second: WaitingForPredecessors",
		},
	},
	"without an import": {
		reach: func(w *world) {
			w.create(w.installation("taker", header+imports("word")).ImportData("word", "word").Reconcile().Build())
		},
		want: []string{"Installation taker: ImportNotFound (status)"},
	},
	"whose child is gone": {
		reach: func(w *world) {
			w.create(w.installation("root", header+nest(
				sub{name: "stays", blueprint: header + deploy(item("one", endless))},
				sub{name: "goes", blueprint: empty},
			)).Reconcile().Build())
			gone := w.nested("root", "goes")
			w.finished(gone.Name, lsv1alpha1.PhaseSucceeded)
			w.executing(w.nested("root", "stays").Name)
			w.delete(gone.Name)
			w.patch(gone, `{"metadata":{"finalizers":null}}`)
		},
		want: []string{
			"DeployItem one: WaitingForReadiness (status)", "Execution stays: WaitingForSubObjects",
			"Installation root: WaitingForSubObjects", "Installation stays: WaitingForSubObjects",
		},
	},
	"with an orphan": {
		reach: func(w *world) {
			w.create(w.installation("root", header+nest(sub{name: "orphan", blueprint: header + deploy(stuck)})).Reconcile().Build())
			w.executing(w.nested("root", "orphan").Name)
			w.interrupt("root")
			w.finished("root", lsv1alpha1.PhaseFailed)
			w.rewrite("root", empty)
			w.request("root")
			w.unattended()
		},
		want: []string{
			"DeployItem one: WaitingForDeployer", "Execution orphan: WaitingForSubObjects",
			"Installation orphan: WaitingForSubObjects", "Installation root: WaitingForOrphans",
		},
	},
	"without a Target": {
		reach: func(w *world) {
			w.create(w.installation("root", header+deploy(untouchable)).Reconcile().Build())
		},
		want: []string{
			"DeployItem one: NoTargetFound", "Execution root: WaitingForSubObjects", "Installation root: WaitingForSubObjects",
		},
	},
	"that deletes": {
		reach: func(w *world) {
			w.create(w.installation("giver", exporting).ExportData("word", "word").Reconcile().Build())
			w.finished("giver", lsv1alpha1.PhaseSucceeded)
			w.create(w.installation("taker", header+imports("word")+deploy(stuck)).ImportData("word", "word").Reconcile().Build())
			w.executing("taker")
			w.interrupt("taker")
			w.finished("taker", lsv1alpha1.PhaseFailed)
			w.delete("taker")
			w.delete("giver")
			w.unattended()
		},
		want: []string{
			"DeployItem one: WaitingForDeployer", "Execution taker: WaitingForSubObjects",
			"Installation giver: WaitingForSuccessors", "Installation taker: WaitingForSubObjects",
		},
	},
	"that waits for other jobs": {
		quotas: manager.QuotaOptions{ConcurrentJobs: 1},
		reach: func(w *world) {
			w.create(w.installation("first", header+deploy(item("one", endless))).Reconcile().Build())
			w.works("first")
			w.create(w.installation("second", empty).Reconcile().Build())
			w.queued("second")
			w.create(w.installation("third", empty).Reconcile().Build())
		},
		want: []string{
			"DeployItem one: WaitingForReadiness (status)", "Execution first: WaitingForSubObjects", "Installation first: WaitingForSubObjects",
			"Installation second: WaitingForJobs", "Installation third: WaitingForJobs",
		},
	},
	"of suspended roots": {
		reach: func(w *world) {
			w.create(
				w.installation("running", header+deploy(item("one", endless))).Reconcile().Build(),
				w.installation("resting", empty).Reconcile().Build(),
			)
			w.works("running")
			w.finished("resting", lsv1alpha1.PhaseSucceeded)
			w.suspend("running")
			w.suspend("resting")
		},
		want: []string{
			"DeployItem one: WaitingForReadiness (status)", "Execution running: WaitingForSubObjects",
			"Installation resting: Suspended", "Installation running: WaitingForSubObjects",
		},
	},
	"that has failed": {
		reach: func(w *world) {
			w.create(w.installation("root", header+deploy(item("one", failing))).Reconcile().Build())
			w.finished("root", lsv1alpha1.PhaseFailed)
		},
		want: []string{
			"DeployItem one: MockFailure (status)", "Execution root: DeployItemsFailed (status)", "Installation root: SubObjectFailed (status)",
		},
	},
}

var explainedUpdates = map[string]explained{
	"in the continuous flow": {
		reach: func(w *world) {
			w.create(w.installation("root", header+deploy(item("one", endless), after("two", "one"))).Continuous().Build())
			w.deploying("root")
		},
		want: []string{
			"DeployItem one: WaitingForReadiness (status)", "Execution root: WaitingForSubObjects", "Installation root: WaitingForSubObjects",
		},
	},
	"in the continuous flow, of a new spec": {
		reach: func(w *world) {
			w.create(w.installation("root", header+nest(sub{name: "below", blueprint: header + deploy(item("one", endless))})).Continuous().Build())
			w.deploying(w.nested("root", "below").Name)
			w.rewrite("root", empty)
		},
		want: []string{
			"DeployItem one: WaitingForReadiness (status)", "Execution below: WaitingForSubObjects",
			"Installation below: WaitingForSubObjects", "Installation root: WaitingForSubObjects",
		},
	},
	"in the continuous flow, of a new import": {
		reach: func(w *world) {
			word := testkit.DataObject(w.namespace, "word", "water").Build()
			w.create(word, w.installation("root", header+imports("word")+deploy(item("one", endless))).
				Continuous().ImportData("word", "word").Build())
			w.deploying("root")
			w.patch(word, `{"data":"wine"}`)
		},
		want: []string{
			"DeployItem one: WaitingForReadiness (status)", "Execution root: WaitingForSubObjects", "Installation root: WaitingForSubObjects (status)",
		},
	},
	"in the continuous flow, without an import": {
		reach: func(w *world) {
			w.create(w.installation("root", header+imports("word")).Continuous().ImportData("word", "word").Build())
		},
		want: []string{"Installation root: ImportNotFound (status)"},
	},
	"in the continuous flow, of a predecessor that has failed": {
		reach: func(w *world) {
			w.create(
				w.installation("giver", exporting+deploy(item("one", failing))).Continuous().ExportData("word", "word").Build(),
				w.installation("taker", header+imports("word")).Continuous().ImportData("word", "word").Build(),
			)
		},
		want: []string{
			"DeployItem one: MockFailure (status)", "Execution giver: SubObjectFailed (status)",
			"Installation giver: SubObjectFailed (status)", "Installation taker: WaitingForPredecessors",
		},
	},
	"in the continuous flow, of a standstill": {
		reach: func(w *world) { w.create(w.installation("root", waitingTree(failing)).Continuous().Build()) },
		want: []string{
			"DeployItem first: MockFailure (status)", "Execution first: SubObjectFailed (status)", "Installation first: SubObjectFailed (status)",
			"Installation last: WaitingForPredecessors", "Installation middle: Standstill", "Installation root: Standstill",
			"Installation second: WaitingForPredecessors",
		},
	},
	"in the continuous flow, of a deletion": {
		reach: func(w *world) {
			w.create(
				w.installation("giver", exporting).Continuous().ExportData("word", "word").Build(),
				w.installation("taker", header+imports("word")).Continuous().ImportData("word", "word").Build(),
			)
			w.completed("taker", lsv1alpha1.PhaseSucceeded)
			w.delete("giver")
		},
		want: []string{"Installation giver: WaitingForSuccessors"},
	},
	"in the continuous flow, of a suspended root": {
		reach: func(w *world) {
			w.create(w.installation("root", empty).Continuous().Build())
			w.completed("root", lsv1alpha1.PhaseSucceeded)
			w.suspend("root")
		},
		want: []string{"Installation root: Suspended"},
	},
}

// after is a deploy item that depends on another one.
func after(name, needed string) string {
	return strings.Replace(item(name), "      config:", "      dependsOn: ["+needed+"]\n      config:", 1)
}

// deploying waits until the deployer works on the deploy item "one" of an installation.
func (w *world) deploying(name string) {
	w.Helper()
	one := &lsv1alpha1.DeployItem{}
	one.Namespace, one.Name = w.namespace, execution.ItemName(name, "one")
	w.itemEventually(one, "in work", func(i *lsv1alpha1.DeployItem) bool { return i.Status.Phase == lsv1alpha1.PhaseProgressing })
}

// unattended waits until the only deploy item has a job, and pretends that it got that long ago, so that the watchdog reports that no
// deployer has picked it up.
func (w *world) unattended() {
	w.Helper()
	item := testkit.Eventually(w.T, w.server, w.onlyItem(), testkit.Is("to be deleted", func(i *lsv1alpha1.DeployItem) bool {
		return !i.DeletionTimestamp.IsZero() && !i.Status.IsFinished()
	}))
	at := time.Now().Add(-time.Minute).UTC().Format(time.RFC3339)
	w.SetStatus(item, map[string]any{"jobIDGenerationTime": at, "transitionTimes": nil})
}

// decidesAlike waits until nothing changes any more, and compares what the command line decides with what the controllers have written.
// Statuses may lag behind decisions.
func (w *world) decidesAlike(want ...string) {
	w.Helper()
	recorder := w.recorded()
	slices.Sort(want)
	const rounds = 10
	for round := 1; ; round++ {
		recorder.Quiet(w.T, time.Second)
		diff := cmp.Diff(want, w.decisions())
		if diff == "" {
			return
		}
		if round == rounds {
			w.Fatalf("decisions (-want +got):\n%s", diff)
		}
	}
}

// decisions returns what both sides say about each object that is not done.
func (w *world) decisions() []string {
	w.Helper()
	objects, err := objecttree.Read(w.Context(), w.cluster, w.namespace)
	if err != nil {
		w.Fatal(err)
	}
	controllers := explain.Read(w.Context(), w.cluster, w.namespace, time.Now())
	var lines []string
	for _, top := range objects.Forest().Tops {
		top.Walk(func(node *objecttree.Node) {
			if node.State() != objecttree.Succeeded || node.HeldBack() {
				lines = append(lines, nameIn(node)+": "+agreement(objects, node, controllers))
			}
		})
	}
	slices.Sort(lines)
	return lines
}

// nameIn names an object as its blueprint does.
func nameIn(node *objecttree.Node) string {
	switch above := node.Above; {
	case node.Kind == objecttree.Execution && above != nil:
		return "Execution" + strings.TrimPrefix(nameIn(above), string(objecttree.Installation))
	case node.As != "":
		return string(node.Kind) + " " + node.As
	default:
		return string(node.Kind) + " " + node.Name()
	}
}

// agreement returns the reason that both sides have for an object, or how they differ.
func agreement(objects *objecttree.Objects, node *objecttree.Node, controllers *explain.Controllers) string {
	wanted := written(node)
	if decided := decidedBy(controllers, silent(objects, node)); decided == wanted {
		return wanted.Reason
	}
	if decided := decidedBy(controllers, node); decided != wanted {
		return fmt.Sprintf("decided is %q, written %q", decided, wanted)
	}
	return wanted.Reason + " (status)"
}

// written returns what the status of an object says.
func written(node *objecttree.Node) objecttree.Explanation {
	conditions := map[lsv1alpha1.ConditionType]lsv1alpha1.Condition{}
	for _, c := range node.Status.Conditions {
		conditions[c.Type] = c
	}
	if node.HeldBack() {
		message, _, _ := strings.Cut(conditions[lsv1alpha1.ConditionSuspended].Message, "; new runs")
		return objecttree.Explanation{Reason: conditions[lsv1alpha1.ConditionSuspended].Reason, Message: "it is " + message}
	}
	if e := node.Status.LastError; e != nil && node.Phase() != objecttree.Triggered { // otherwise, it is that of the previous job
		return objecttree.Explanation{Reason: e.Reason, Message: e.Message}
	}
	ready := conditions[lsv1alpha1.ConditionReady]
	return objecttree.Explanation{Reason: ready.Reason, Message: ready.Message}
}

// decidedBy returns what the command line says about an object, without what it adds for people.
func decidedBy(controllers *explain.Controllers, node *objecttree.Node) objecttree.Explanation {
	decided := explain.Find(node, controllers)[0][0].Explanation
	decided.Message, _, _ = strings.Cut(decided.Message, " (classes: ")
	decided.Since = time.Time{}
	return decided
}

// silent returns an object whose status does not say what it waits for, except for the quota that it names.
func silent(objects *objecttree.Objects, node *objecttree.Node) *objecttree.Node {
	original, object := node.Object, node.Object.DeepCopyObject().(client.Object)
	objects.Put(object)
	defer objects.Put(original)
	node = objects.Forest().Find(node.Kind, node.Namespace(), node.Name())
	node.Status.LastError = nil
	for i, c := range node.Status.Conditions {
		_, quota, _ := strings.Cut(c.Message, ": quota of")
		node.Status.Conditions[i].Message = ""
		if quota != "" {
			node.Status.Conditions[i].Message = "silent: quota of" + quota
		}
	}
	return node
}
