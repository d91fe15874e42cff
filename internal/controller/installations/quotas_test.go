// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package installations_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/installation"
	"espalier.dev/internal/manager"
	"espalier.dev/internal/testkit"
)

// limitedWorld is a world whose namespaces have quotas.
func limitedWorld(t *testing.T, quotas manager.QuotaOptions) *world {
	w := idleWorld(t)
	if quotas.RenderedBytes == "" {
		quotas.RenderedBytes = "0"
	}
	w.Options.Quotas = quotas
	w.Manage()
	return w
}

// quota sets a quota of the namespace.
func (w *world) quota(name, value string) {
	w.Helper()
	w.Annotate(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.namespace}}, installation.QuotaAnnotations+name, value)
}

// works waits until a job has started to install.
func (w *world) works(name string) *lsv1alpha1.Installation {
	w.Helper()
	return w.eventually(name, "at work", func(i *lsv1alpha1.Installation) bool {
		return !i.Status.IsFinished() && i.Status.Phase == lsv1alpha1.PhaseProgressing
	})
}

// queued waits until a job waits for others, and returns what its status says. The job has waited for hours, so that no periodic check
// reconciles it while the test runs.
func (w *world) queued(name string) string {
	w.Helper()
	inst := w.eventually(name, "waiting for other jobs", func(i *lsv1alpha1.Installation) bool {
		job, running := installation.RootJobOf(i)
		return running && job.Stage == installation.JobQueued
	})
	long := time.Now().Add(-10 * time.Hour).UTC().Format(time.RFC3339)
	w.SetStatus(w.named(name), map[string]any{"phaseTransitionTime": long})
	return readiness(inst).Message
}

// readiness returns the Ready condition of an installation.
func readiness(inst *lsv1alpha1.Installation) lsv1alpha1.Condition {
	for _, c := range inst.Status.Conditions {
		if c.Type == lsv1alpha1.ConditionReady {
			return c
		}
	}
	return lsv1alpha1.Condition{}
}

func hasEnded(inst *lsv1alpha1.Installation) bool {
	return inst.Status.JobID != "" && inst.Status.IsFinished()
}

func (w *world) interrupt(name string) {
	w.Helper()
	w.annotate(name, lsv1alpha1.OperationAnnotation, string(lsv1alpha1.OperationInterrupt))
}

// atOnce returns the highest number of jobs in progress at the same time, according to the stored states.
func atOnce(t *testing.T, history testkit.History) int {
	t.Helper()
	begun, most := map[string]bool{}, 0
	for _, revision := range history {
		inst := &lsv1alpha1.Installation{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(revision.Object.Object, inst); err != nil {
			t.Fatal(err)
		}
		delete(begun, inst.Name)
		job, running := installation.RootJobOf(inst)
		if running && job.Stage == installation.JobBegun && revision.Change != testkit.Deleted {
			begun[inst.Name] = true
		}
		most = max(most, len(begun))
	}
	return most
}

// Many jobs are requested at once, and another process replaces the first one while they wait. Never do more run than the quota permits,
// all finish, and none is notified of every step of the others.
func TestOfManyJobsOnlySoManyWorkAtOnce(t *testing.T) {
	w := idleWorld(t)
	w.Options.Quotas.ConcurrentJobs = 2
	stop := w.Manage()
	recorder := testkit.Record(t, w.server, w.namespace, testkit.Kinds(&lsv1alpha1.Installation{}))
	tree := header + deploy(item("one")) + nest(sub{name: "child", blueprint: header + deploy(item("two"))})
	var names []string
	for i := range 20 {
		names = append(names, fmt.Sprintf("app-%02d", i))
		w.create(w.installation(names[i], tree).Reconcile().Build())
	}
	patience := testkit.Within(5 * time.Minute)
	testkit.EventuallyFinished(t, w.server, w.named(names[2]), lsv1alpha1.PhaseSucceeded, patience)
	stop()
	recorder.Quiet(t, time.Second) // Whatever was in progress when the process ended has arrived.
	w.Manage()
	for _, name := range names {
		testkit.EventuallyFinished(t, w.server, w.named(name), lsv1alpha1.PhaseSucceeded, patience)
	}
	history := recorder.History()
	if most := atOnce(t, history); most > 2 {
		t.Errorf("%d jobs were at work at once", most)
	}
	waited := 0
	for _, name := range names {
		messages := recorder.Of(w.named(name)).Transitions("status.conditions[type=Ready].message")
		messages = slices.DeleteFunc(messages, func(message string) bool {
			return !strings.HasSuffix(message, " in namespace "+w.namespace+": quota of concurrent jobs is 2")
		})
		if waited += len(messages); len(messages) > 10 {
			t.Errorf("installation %s was told of every step of the others: %q", name, messages)
		}
	}
	if waited == 0 {
		t.Error("nobody had to wait")
	}
}

func TestJobsThatWaitBeginInTheOrderOfTheirRequests(t *testing.T) {
	w := limitedWorld(t, manager.QuotaOptions{ConcurrentJobs: 1})
	recorder := testkit.Record(t, w.server, w.namespace, testkit.Kinds(&lsv1alpha1.Installation{}))
	w.create(w.installation("now", header+deploy(item("one", endless))).Reconcile().Build())
	w.works("now")
	messages := map[string]string{}
	for i, name := range []string{"a", "b", "c"} {
		w.create(w.installation(name, empty).Reconcile().Build())
		messages[name] = w.queued(name)
		// The API server stores whole seconds: the last job was requested an hour before the first one.
		at := time.Now().Add(-time.Duration(i) * time.Hour).UTC().Format(time.RFC3339)
		w.SetStatus(w.named(name), map[string]any{"transitionTimes": map[string]any{"triggerTime": at}})
	}
	if want := fmt.Sprintf("Waiting for 1 other job in namespace %s: quota of concurrent jobs is 1", w.namespace); messages["a"] != want {
		t.Errorf("the first one is told %q, want %q", messages["a"], want)
	}
	w.interrupt("now")
	var ended []string
	for _, name := range []string{"now", "a", "b", "c"} {
		w.eventually(name, "at its end", hasEnded)
	}
	for _, revision := range recorder.History() {
		name, succeeded := revision.Object.GetName(), revision.Field("status.phase") == string(lsv1alpha1.PhaseSucceeded)
		if succeeded && !slices.Contains(ended, name) {
			ended = append(ended, name)
		}
	}
	if !slices.Equal(ended, []string{"c", "b", "a"}) {
		t.Errorf("they have ended in the order %q", ended)
	}
	if most := atOnce(t, recorder.History()); most != 1 {
		t.Errorf("%d jobs were at work at once", most)
	}
}

// A deletion or an interrupt does not wait for a place, and takes none.
func TestAQuotaHoldsUpNoDeletionAndNoInterrupt(t *testing.T) {
	w := limitedWorld(t, manager.QuotaOptions{ConcurrentJobs: 1})
	w.create(w.installation("old", header+deploy(item("one"))).Reconcile().Build())
	w.finished("old", lsv1alpha1.PhaseSucceeded)
	w.create(w.installation("busy", header+deploy(item("one", endless))).Reconcile().Build())
	w.works("busy")
	w.create(w.installation("deleted", empty).Reconcile().Build(), w.installation("interrupted", empty).Reconcile().Build())
	w.queued("deleted")
	w.queued("interrupted")

	w.delete("old")
	testkit.EventuallyGone(t, w.server, w.named("old"))
	w.delete("deleted")
	testkit.EventuallyGone(t, w.server, w.named("deleted"))
	w.interrupt("interrupted")
	if failed := w.finished("interrupted", lsv1alpha1.PhaseFailed); failed.Status.LastError.Reason != lsv1alpha1.ReasonInterrupted {
		t.Errorf("it has ended with %+v", failed.Status.LastError)
	}
	w.works("busy")
	w.delete("busy")
	w.interrupt("busy")
	testkit.EventuallyGone(t, w.server, w.named("busy"))
	w.request("interrupted")
	w.finished("interrupted", lsv1alpha1.PhaseSucceeded)
}

// A job that waits for something other than a place leaves it to others, including those that it waits for.
func TestAJobThatLacksSomethingTakesNoPlace(t *testing.T) {
	w := limitedWorld(t, manager.QuotaOptions{ConcurrentJobs: 1})
	w.create(w.installation("lacking", header+imports("word")).ImportData("word", "missing").Reconcile().Build())
	w.eventually("lacking", "waiting for its import", func(i *lsv1alpha1.Installation) bool { return i.Status.LastError != nil })
	w.create(
		w.installation("producer", header+exports("word: one", "word")).ExportData("word", "word").Build(),
		w.installation("consumer", header+imports("word")).ImportData("word", "word").Reconcile().Build(),
	)
	w.eventually("consumer", "waiting for its predecessor", func(i *lsv1alpha1.Installation) bool {
		return readiness(i).Reason == lsv1alpha1.ReasonWaitingForPredecessors
	})
	w.request("producer")
	w.finished("producer", lsv1alpha1.PhaseSucceeded)
	w.finished("consumer", lsv1alpha1.PhaseSucceeded)

	// It gets its turn, finds that something is still missing, and the next one follows.
	w.create(w.installation("busy", header+deploy(item("one", endless))).Reconcile().Build())
	w.works("busy")
	w.interrupt("lacking")
	w.finished("lacking", lsv1alpha1.PhaseFailed)
	w.request("lacking")
	w.queued("lacking")
	w.create(w.installation("last", empty).Reconcile().Build())
	w.queued("last")
	w.interrupt("busy")
	w.finished("last", lsv1alpha1.PhaseSucceeded)
	w.create(testkit.DataObject(w.namespace, "missing", 1).Build())
	w.finished("lacking", lsv1alpha1.PhaseSucceeded)
}

func TestAQuotaOfANamespaceCanBeChangedWhileJobsWait(t *testing.T) {
	w := limitedWorld(t, manager.QuotaOptions{ConcurrentJobs: 1})
	for _, name := range []string{"a", "b", "c", "d"} {
		w.create(w.installation(name, header+deploy(item("one", endless))).Reconcile().Build())
		if name == "a" {
			w.works(name)
		} else {
			w.queued(name)
		}
	}
	w.quota("concurrent-jobs", "2")
	w.works("b")
	w.quota("concurrent-jobs", "3")
	w.works("c")
	w.quota("concurrent-jobs", installation.Unlimited)
	w.works("d")
	for _, name := range []string{"a", "b", "c", "d"} {
		w.interrupt(name)
		w.finished(name, lsv1alpha1.PhaseFailed)
	}

	// With a typo, the flag applies again, and the next job reports that.
	w.quota("concurrent-jobs", "3O")
	w.create(w.installation("e", empty).Build())
	typo := fmt.Sprintf(`quota.espalier.dev/concurrent-jobs of namespace %s has the invalid value "3O", so the quota is 1`, w.namespace)
	w.insist("e", func(i *lsv1alpha1.Installation) bool {
		return slices.ContainsFunc(i.Status.Conditions, func(c lsv1alpha1.Condition) bool {
			return c.Type == lsv1alpha1.ConditionBlueprintWarnings && strings.Contains(c.Message, typo)
		})
	})
	w.request("a")
	w.works("a")
	w.request("b")
	w.queued("b")
	w.quota("concurrent-jobs", installation.Unlimited)
	w.works("b")
}

// insist starts jobs of an installation until one ends as expected: the controllers may not have seen the newest quotas yet.
func (w *world) insist(name string, ends func(*lsv1alpha1.Installation) bool) {
	w.Helper()
	for range 100 {
		before := w.named(name)
		w.get(before)
		w.request(name)
		after := w.eventually(name, "at the end of another job", func(i *lsv1alpha1.Installation) bool {
			return i.Status.JobID != before.Status.JobID && i.Status.IsFinished()
		})
		if ends(after) {
			return
		}
	}
	w.Fatalf("installation %s never ends as it shall", name)
}

// succeeds and says describe how a job ends.
func succeeds(inst *lsv1alpha1.Installation) bool {
	return inst.Status.Phase == lsv1alpha1.PhaseSucceeded
}

func says(words string) func(*lsv1alpha1.Installation) bool {
	return func(inst *lsv1alpha1.Installation) bool {
		e := inst.Status.LastError
		return e != nil && e.Reason == installation.ReasonQuotaExceeded && strings.Contains(e.Message, words)
	}
}

// refused waits until a job has failed because of a quota, and returns its message.
func (w *world) refused(name string) string {
	w.Helper()
	failed := w.finished(name, lsv1alpha1.PhaseFailed)
	if failed.Status.LastError.Reason != installation.ReasonQuotaExceeded {
		w.Errorf("installation %s has failed with %+v", name, failed.Status.LastError)
	}
	return failed.Status.LastError.Message
}

// counted returns how many nested installations and executions there are.
func (w *world) counted() (nested, executions int) {
	w.Helper()
	var subs lsv1alpha1.InstallationList
	var below lsv1alpha1.ExecutionList
	for _, list := range []client.ObjectList{&subs, &below} {
		if err := w.cluster.List(w.Context(), list, client.InNamespace(w.namespace)); err != nil {
			w.Fatal(err)
		}
	}
	for i := range subs.Items {
		if !installation.IsRoot(&subs.Items[i]) {
			nested++
		}
	}
	return nested, len(below.Items)
}

func TestAJobThatNeedsMoreThanTheNamespaceMayHaveFailsBeforeItCreatesAnything(t *testing.T) {
	w := limitedWorld(t, manager.QuotaOptions{DeployItems: 3})
	w.create(w.installation("a", header+deploy(item("one"), item("two"))).Reconcile().Build())
	w.finished("a", lsv1alpha1.PhaseSucceeded)
	w.create(w.installation("b", header+deploy(item("one"), item("two"))+nest(sub{name: "child", blueprint: empty})).Reconcile().Build())
	if message := w.refused("b"); !strings.Contains(message, "may have at most 3 deploy items: it has 2, and this installation needs 2 more") ||
		!strings.Contains(message, "ask a cluster administrator") {
		t.Errorf("it says %q", message)
	}
	if nested, executions := w.counted(); nested != 0 || executions != 1 {
		t.Errorf("there are %d nested installations and %d executions", nested, executions)
	}

	w.quota("deploy-items", "4 items")
	w.insist("b", says(`has the invalid value "4 items", so the quota is 3`))
	w.quota("deploy-items", "4")
	w.quota("installations", "2")
	w.insist("b", says("at most 2 installations: it has 2, and this installation needs 1 more"))
	w.quota("installations", "3")
	w.insist("b", succeeds)

	// Existing installations keep their places. A new one is rejected as one too many.
	w.quota("installations", "1")
	w.quota("deploy-items", "1")
	// Ages are whole seconds, and names decide among equals: this one comes after the nested installation of b.
	w.create(w.installation("late", empty).Build())
	w.insist("late", says("at most 1 installations, and 3 were created before this one"))
	w.again("a")
	w.again("b")
	w.delete("b")
	testkit.EventuallyGone(t, w.server, w.named("b"))

	w.quota("installations", installation.Unlimited)
	w.quota("deploy-items", installation.Unlimited)
	w.quota("rendered-bytes", "100")
	w.create(w.installation("d", header+deploy(item("one"))).Build())
	w.insist("d", says("at most 100 bytes of rendered deploy items and nested installations"))
}

// The concurrent plans of several installations in a namespace count together.
func TestPlansThatAreMadeAtOnceDoNotExceedAQuotaTogether(t *testing.T) {
	w := limitedWorld(t, manager.QuotaOptions{DeployItems: 5})
	var names []string
	for i := range 12 {
		names = append(names, fmt.Sprintf("app-%02d", i))
		w.create(w.installation(names[i], header+deploy(item("one"), item("two"))).Build())
	}
	for _, name := range names {
		w.request(name)
	}
	succeeded := 0
	for _, name := range names {
		ended := w.eventually(name, "at its end", hasEnded)
		if ended.Status.Phase == lsv1alpha1.PhaseSucceeded {
			succeeded++
		}
	}
	if _, executions := w.counted(); succeeded != 2 || executions != 2 {
		t.Errorf("%d have succeeded, and there are %d executions", succeeded, executions)
	}
}

// The server has no controller that counts objects for a ResourceQuota, so the test sets the count.
func TestAJobWaitsForRoomInAResourceQuota(t *testing.T) {
	for kind, await := range map[string]func(w *world, waits func(*lsv1alpha1.RunStatus) bool) client.Object{
		"executions": func(w *world, waits func(*lsv1alpha1.RunStatus) bool) client.Object {
			return w.eventually("app", "waiting", func(i *lsv1alpha1.Installation) bool { return waits(&i.Status.RunStatus) })
		},
		"deployitems": func(w *world, waits func(*lsv1alpha1.RunStatus) bool) client.Object {
			execution := &lsv1alpha1.Execution{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "app"}}
			return testkit.Eventually(w.T, w.server, execution, testkit.Is("waiting", func(e *lsv1alpha1.Execution) bool {
				return waits(&e.Status.RunStatus)
			}))
		},
	} {
		t.Run(kind, func(t *testing.T) {
			w := newWorld(t)
			counted := corev1.ResourceName("count/" + kind + ".landscaper.gardener.cloud")
			quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "few"}}
			w.permit(quota, counted, "3")
			w.create(w.installation("app", header+deploy(item("one"))).Reconcile().Build())
			waiting := await(w, func(status *lsv1alpha1.RunStatus) bool {
				return status.LastError == nil && slices.ContainsFunc(status.Conditions, func(c lsv1alpha1.Condition) bool {
					return c.Reason == lsv1alpha1.ReasonWaitingForQuota &&
						strings.Contains(c.Message, "waiting for room in ResourceQuota few (limit "+string(counted)+"=3")
				})
			})
			w.permit(quota, counted, "4")
			w.Annotate(waiting, "example.com/look", "again") // It would check by itself after a minute.
			w.finished("app", lsv1alpha1.PhaseSucceeded)
		})
	}
}

// permit makes a ResourceQuota permit a number of objects, of which three exist.
func (w *world) permit(quota *corev1.ResourceQuota, counted corev1.ResourceName, number string) {
	w.Helper()
	quota.Spec.Hard = corev1.ResourceList{counted: resource.MustParse(number)}
	if quota.UID == "" {
		w.create(quota)
	} else if err := w.cluster.Update(w.Context(), quota); err != nil {
		w.Fatal(err)
	}
	quota.Status = corev1.ResourceQuotaStatus{Hard: quota.Spec.Hard, Used: corev1.ResourceList{counted: resource.MustParse("3")}}
	if err := w.cluster.Status().Update(w.Context(), quota); err != nil {
		w.Fatal(err)
	}
}
