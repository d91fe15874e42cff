// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package deployitems_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	mockv1alpha1 "espalier.dev/api/deployer/mock/v1alpha1"
	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/controller/deployitems"
	"espalier.dev/internal/deployer/mock"
	"espalier.dev/internal/manager"
	"espalier.dev/internal/run"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/faults"
	"espalier.dev/internal/testkit/managed"
)

func TestMain(m *testing.M) { testkit.MainWithOthers(m) }

// world is a namespace in which a test runs the controllers that it names.
type world struct {
	*testkit.World
	t  *testing.T
	ns string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := testkit.NewWorld(t)
	return &world{World: w, t: t, ns: w.Namespace}
}

// run runs controllers of the product for the namespace until the test ends or the returned function is called.
func (w *world) run(pickup lsv1alpha1.Duration, controllers ...string) (stop func()) {
	w.t.Helper()
	return w.runOver(w.Config(), pickup, controllers...)
}

func (w *world) runOver(config *rest.Config, pickup lsv1alpha1.Duration, controllers ...string) (stop func()) {
	w.t.Helper()
	return testkit.Run(w.t, w.manager(config, pickup, controllers...).Start)
}

func (w *world) manager(config *rest.Config, pickup lsv1alpha1.Duration, controllers ...string) *manager.Manager {
	w.t.Helper()
	options := managed.Options(w.ns)
	options.Controllers, options.Workers, options.DeployItemPickupTimeout = controllers, 2, pickup
	return managed.Manager(w.t, config, options)
}

func phase(p lsv1alpha1.Phase) mockv1alpha1.ProviderConfiguration {
	return mockv1alpha1.ProviderConfiguration{Phase: &p}
}

// started creates an item and starts its job by setting the job ID alone.
func (w *world) started(item *lsv1alpha1.DeployItem) *lsv1alpha1.DeployItem {
	w.t.Helper()
	testkit.Create(w.t, w.APIServer, item)
	w.SetStatus(item, map[string]any{"jobID": "first"})
	return item
}

func TestJOB74_ItemThatNoDeployerPicksUpFails(t *testing.T) {
	w := newWorld(t)
	patient := w.started(testkit.DeployItem(w.ns, "patient").Build())
	stop := w.run("none", deployitems.Name)
	noted := testkit.Eventually(
		t,
		w.APIServer,
		patient,
		testkit.Is("noted", func(i *lsv1alpha1.DeployItem) bool { return i.Status.JobIDGenerationTime != nil }),
	)
	if noted.Status.Phase != "" || noted.Status.IsFinished() {
		t.Errorf("without a limit: %+v", noted.Status)
	}
	stop()
	stop = w.run("1ms", deployitems.Name)
	item := testkit.EventuallyFinished(t, w.APIServer, patient, lsv1alpha1.PhaseFailed)
	e := item.Status.LastError
	want := []any{lsv1alpha1.OperationWaitingForPickup, lsv1alpha1.ReasonPickupTimeout, []lsv1alpha1.ErrorCode{lsv1alpha1.ErrorTimeout}}
	if diff := cmp.Diff(want, []any{e.Operation, e.Reason, e.Codes}); diff != "" {
		t.Errorf("last error (-want +got):\n%s", diff)
	}
	if item.Status.FirstError == nil || len(item.Status.LastErrors) != 1 {
		t.Errorf("first %+v, last %+v", item.Status.FirstError, item.Status.LastErrors)
	}
	stop()
	// A late deployer finds nothing to do.
	w.run("none", mock.Name)
	testkit.EventuallyFinished(t, w.APIServer, w.started(testkit.DeployItem(w.ns, "later").Build()), lsv1alpha1.PhaseSucceeded)
	if now := w.live(item); now.ResourceVersion != item.ResourceVersion {
		t.Errorf("the deployer went on: %+v", now.Status)
	}
}

func (w *world) live(item *lsv1alpha1.DeployItem) *lsv1alpha1.DeployItem {
	w.t.Helper()
	now := &lsv1alpha1.DeployItem{}
	if err := w.Client().Get(w.t.Context(), client.ObjectKeyFromObject(item), now); err != nil {
		w.t.Fatal(err)
	}
	return now
}

func TestJOB74_ItemThatRunsTooLongFails(t *testing.T) {
	w := newWorld(t)
	w.run("5m", deployitems.Name, mock.Name)
	forever := w.started(testkit.DeployItem(w.ns, "forever").Mock(phase(lsv1alpha1.PhaseProgressing)).Timeout(lsv1alpha1.NoDuration).Build())
	item := testkit.EventuallyFinished(t, w.APIServer,
		w.started(testkit.DeployItem(w.ns, "slow").Mock(phase(lsv1alpha1.PhaseProgressing)).Timeout("1s").Build()), lsv1alpha1.PhaseFailed)
	e := item.Status.LastError
	if e.Reason != lsv1alpha1.ReasonProgressingTimeout || !slices.Equal(e.Codes, []lsv1alpha1.ErrorCode{lsv1alpha1.ErrorTimeout}) {
		t.Errorf("last error %+v", e)
	}
	if now := w.live(forever); now.Status.Phase != lsv1alpha1.PhaseProgressing || now.Status.IsFinished() {
		t.Errorf("none is no limit, but: %+v", now.Status)
	}
}

// says matches an item with a condition whose message contains a text.
func says(text string) testkit.Condition[*lsv1alpha1.DeployItem] {
	return testkit.Is("says "+text, func(i *lsv1alpha1.DeployItem) bool {
		return slices.ContainsFunc(i.Status.Conditions, func(c lsv1alpha1.Condition) bool {
			return c.Type == lsv1alpha1.ConditionReconciling && strings.Contains(c.Message, text)
		})
	})
}

// limit sets a timeout of one second on a waiting item.
func (w *world) limit(item *lsv1alpha1.DeployItem) {
	w.t.Helper()
	err := w.Client().Patch(w.t.Context(), item, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"timeout":"1s"}}`)))
	if err != nil {
		w.t.Fatal(err)
	}
}

func TestJOB74_ATimeoutSaysWhatWasWaitedFor(t *testing.T) {
	w := newWorld(t)
	w.run("none", deployitems.Name, mock.Name)
	slow := testkit.DeployItem(w.ns, "slow").Mock(phase(lsv1alpha1.PhaseProgressing)).Timeout(lsv1alpha1.NoDuration).Build()
	lost := testkit.DeployItem(w.ns, "lost").Target("far").Timeout(lsv1alpha1.NoDuration).Build()
	for item, cause := range map[*lsv1alpha1.DeployItem]string{
		slow: "spec.config requests phase Progressing",
		lost: "Target " + w.ns + "/far does not exist",
	} {
		w.limit(testkit.Eventually(t, w.APIServer, w.started(item), says(cause)))
		failed := testkit.EventuallyFinished(t, w.APIServer, item, lsv1alpha1.PhaseFailed)
		w.told(failed, cause)
	}
}

// told checks that the error and the conditions of a failed item name the cause and its start.
func (w *world) told(item *lsv1alpha1.DeployItem, cause string) {
	w.t.Helper()
	e := item.Status.LastError
	if e == nil || e.Reason != lsv1alpha1.ReasonProgressingTimeout {
		w.t.Fatalf("%s failed with %+v, want a timeout", item.Name, e)
	}
	if !strings.Contains(e.Message, cause) || !strings.Contains(e.Message, "since 20") {
		w.t.Errorf("%s failed with %q, want the cause %q and since when", item.Name, e.Message, cause)
	}
	for _, c := range item.Status.Conditions {
		if !strings.Contains(c.Message, cause) {
			w.t.Errorf("condition %s of %s says %q", c.Type, item.Name, c.Message)
		}
	}
}

func TestJOB74_ADeletionWithoutItsTargetNamesIt(t *testing.T) {
	w := newWorld(t)
	w.run("none", deployitems.Name, mock.Name)
	target := testkit.Target(w.ns, "far").Build()
	testkit.Create(t, w.APIServer, target)
	item := testkit.EventuallyFinished(t, w.APIServer,
		w.started(testkit.DeployItem(w.ns, "lost").Target("far").Timeout(lsv1alpha1.NoDuration).Build()), lsv1alpha1.PhaseSucceeded)
	for _, object := range []client.Object{target, item} {
		if err := w.Client().Delete(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	w.SetStatus(item, map[string]any{"jobID": "second"})
	cause := "Target " + w.ns + "/far does not exist"
	w.limit(testkit.Eventually(t, w.APIServer, item, says(cause)))
	w.told(testkit.EventuallyFinished(t, w.APIServer, item, lsv1alpha1.PhaseDeleteFailed), cause)
}

func TestAnItemThatIsNotPickedUpSaysSo(t *testing.T) {
	w := newWorld(t)
	item := testkit.DeployItem(w.ns, "lonely").Build()
	testkit.Create(t, w.APIServer, item)
	w.SetStatus(item, map[string]any{"jobID": "first", "jobIDGenerationTime": time.Now().Add(-time.Minute).UTC().Format(time.RFC3339)})
	stop := w.run("none", deployitems.Name)
	testkit.Eventually(t, w.APIServer, item, says("no deployer for type "+string(lsv1alpha1.DeployItemTypeMock)))
	stop()
	w.run("none", mock.Name)
	testkit.EventuallyFinished(t, w.APIServer, item, lsv1alpha1.PhaseSucceeded)
}

// The watchdog costs nothing when all goes well.
func TestTheWatchdogWritesNothingToItemsThatGoWell(t *testing.T) {
	w := newWorld(t)
	recorder := testkit.Record(t, w.APIServer, w.ns, testkit.Groups("landscaper.gardener.cloud"))
	item := testkit.DeployItem(w.ns, "good").Build()
	testkit.Create(t, w.APIServer, item)
	// However slow the deployer is, it is in time. The item has its job before the watchdog can see it without one and report that.
	w.SetStatus(item, map[string]any{"jobID": "first", "jobIDGenerationTime": time.Now().Add(time.Hour).UTC().Format(time.RFC3339)})
	transport := faults.New(faults.Plan{})
	w.runOver(transport.Config(w.Config()), "5m", deployitems.Name)
	w.run("5m", mock.Name)
	testkit.EventuallyFinished(t, w.APIServer, item, lsv1alpha1.PhaseSucceeded)
	recorder.Quiet(t, time.Second)
	if writes := transport.Log().Writes(); len(writes) > 0 {
		t.Errorf("it wrote:\n%s", writes)
	}
}

func TestJOB50_OperationsOnAnItemAreRemovedWithoutEffect(t *testing.T) {
	w := newWorld(t)
	w.run("5m", deployitems.Name, mock.Name)
	item := w.started(testkit.DeployItem(w.ns, "busy").Mock(phase(lsv1alpha1.PhaseProgressing)).Build())
	for _, operation := range []lsv1alpha1.Operation{lsv1alpha1.OperationInterrupt, lsv1alpha1.OperationReconcile} {
		item = testkit.Eventually(t, w.APIServer, item, testkit.Is("waiting", func(i *lsv1alpha1.DeployItem) bool {
			return i.Status.TransitionTimes != nil && i.Status.TransitionTimes.WaitTime != nil
		}))
		w.Annotate(item, lsv1alpha1.OperationAnnotation, string(operation))
		after := testkit.Eventually(t, w.APIServer, item, testkit.Is("without operation", func(i *lsv1alpha1.DeployItem) bool {
			return i.Annotations[lsv1alpha1.OperationAnnotation] == ""
		}))
		if diff := cmp.Diff(item.Status, after.Status); diff != "" {
			t.Errorf("%s changed the status: %s", operation, diff)
		}
	}
}

func TestOneRequestIsOneJobOfTheItem(t *testing.T) {
	w := newWorld(t)
	recorder := testkit.Record(t, w.APIServer, w.ns, testkit.Groups("landscaper.gardener.cloud"))
	w.run("5m", deployitems.Name, mock.Name)
	item := testkit.EventuallyFinished(t, w.APIServer, w.started(testkit.DeployItem(w.ns, "alone").Build()), lsv1alpha1.PhaseSucceeded)
	w.Annotate(item, lsv1alpha1.OperationAnnotation, string(lsv1alpha1.OperationTestReconcile))
	again := testkit.Eventually(t, w.APIServer, item, testkit.Is("finished again", func(i *lsv1alpha1.DeployItem) bool {
		return i.Status.JobID != "first" && i.Status.IsFinished()
	}))
	recorder.Quiet(t, time.Second)
	for _, r := range recorder.Of(item) {
		ready, granted := r.Field("status.conditions[type=Ready].status"), r.Field("metadata.annotations["+run.GrantAnnotation+"]") != ""
		if granted && r.Field("status.jobIDFinished") == "first" && ready == "True" {
			t.Error("the request is gone, and Ready is that of the job before")
		}
	}
	if jobs := recorder.Of(item).Transitions("status.jobID"); len(jobs) != 3 || again.Status.Phase != lsv1alpha1.PhaseSucceeded {
		t.Errorf("jobs %q, ended as %s", jobs, again.Status.Phase)
	}
	if request := w.live(item).Annotations[lsv1alpha1.OperationAnnotation]; request != "" {
		t.Errorf("the request %s is still there", request)
	}
	if grant := again.Annotations[run.GrantAnnotation]; run.ParseGrant(grant, string(item.UID)) != again.Status.JobID {
		t.Errorf("granted %s, ran %s", grant, again.Status.JobID)
	}
}

// Whichever write the watchdog dies at, one request starts one job.
func TestOneRequestIsOneJobWhereverTheWatchdogDies(t *testing.T) {
	for _, plan := range []string{"write:1:before", "write:1:after", "write:2:before", "write:2:after"} {
		t.Run(plan, func(t *testing.T) {
			w := newWorld(t)
			recorder := testkit.Record(t, w.APIServer, w.ns, testkit.Groups("landscaper.gardener.cloud"))
			item := testkit.DeployItem(w.ns, "alone").Annotate(lsv1alpha1.OperationAnnotation, string(lsv1alpha1.OperationTestReconcile)).Build()
			testkit.Create(t, w.APIServer, item)
			transport := faults.New(faults.MustParse(plan))
			first := testkit.Start(t.Context(), w.manager(transport.Config(w.Config()), "5m", deployitems.Name).Start)
			<-transport.Crashed()
			t.Cleanup(func() { _ = first.Stop() }) // Its result does not matter.
			w.run("5m", deployitems.Name, mock.Name)
			testkit.EventuallyFinished(t, w.APIServer, item, lsv1alpha1.PhaseSucceeded)
			recorder.Quiet(t, time.Second)
			if jobs := recorder.Of(item).Transitions("status.jobID"); len(jobs) != 2 {
				t.Errorf("jobs %q", jobs)
			}
		})
	}
}

func TestJOB60_ItemIsDeletedWithoutUninstall(t *testing.T) {
	w := newWorld(t)
	export, err := lsv1alpha1.NewAnyJSON(map[string]any{"a": 1})
	if err != nil {
		t.Fatal(err)
	}
	// No parent passes the deletion job to this mock item: the watchdog alone releases it.
	stop := w.run("5m", deployitems.Name, mock.Name)
	item := testkit.EventuallyFinished(t, w.APIServer,
		w.started(testkit.DeployItem(w.ns, "kept").Mock(mockv1alpha1.ProviderConfiguration{Export: &export}).Build()), lsv1alpha1.PhaseSucceeded)
	stop()
	w.run("5m", deployitems.Name)
	w.Annotate(item, lsv1alpha1.DeleteWithoutUninstallAnnotation, "true")
	if err := w.Client().Delete(t.Context(), item); err != nil {
		t.Fatal(err)
	}
	testkit.EventuallyGone(t, w.APIServer, item)
	err = w.Client().Get(t.Context(), client.ObjectKey{Namespace: w.ns, Name: "kept-export"}, &corev1.Secret{})
	if !apierrors.IsNotFound(err) {
		t.Errorf("the exports are still there: %v", err)
	}
}
