// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package deployer_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/cli"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/clitest"
	"espalier.dev/internal/testkit/managed"
)

const byHandType = "example.org/by-hand"

// byHand is a deployer that knows nothing of our library. It follows the rules of docs/deployers.md in terms of the API alone, apart
// from the one that it is told to break.
type byHand struct {
	client.WithWatch
	breaks string
}

func byHandConfig(outcome string) string {
	return "apiVersion: example.org/v1\nkind: Outcome\noutcome: " + outcome + "\n"
}

// work deals with the items of a namespace until the test ends.
func (d *byHand) work(t *testing.T, namespace string) {
	t.Helper()
	items, err := d.Watch(t.Context(), &lsv1alpha1.DeployItemList{}, client.InNamespace(namespace))
	if err != nil {
		t.Fatal(err)
	}
	testkit.Run(t, func(ctx context.Context) error {
		defer items.Stop()
		for {
			select {
			case event := <-items.ResultChan():
				item, known := event.Object.(*lsv1alpha1.DeployItem)
				if !known || event.Type == watch.Deleted {
					continue
				}
				err := d.step(ctx, item)
				if err != nil && ctx.Err() == nil && !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) {
					t.Errorf("the deployer by hand: %v", err)
				}
			case <-ctx.Done():
				return nil
			}
		}
	})
}

// step brings an item one write closer to its end. Each write leads to the next step, and a conflict to none: its cause does.
func (d *byHand) step(ctx context.Context, item *lsv1alpha1.DeployItem) error {
	if item.Spec.Type != byHandType || !d.concerns(item) {
		return nil
	}
	if !item.DeletionTimestamp.IsZero() {
		return d.remove(ctx, item)
	}
	if !slices.Contains(item.Finalizers, lsv1alpha1.Finalizer) {
		item.Finalizers = append(item.Finalizers, lsv1alpha1.Finalizer)
		return d.Update(ctx, item)
	}
	current := item.Status.Phase == lsv1alpha1.PhaseSucceeded && item.Status.ObservedGeneration == item.Generation
	switch {
	case item.Spec.UpdateOnChangeOnly && current && d.breaks != "unchanged":
		return d.end(ctx, item, lsv1alpha1.PhaseSucceeded)
	case item.Status.Phase != lsv1alpha1.PhaseProgressing && d.breaks != "the pick-up":
		return d.pickUp(ctx, item, lsv1alpha1.PhaseProgressing)
	case item.Annotations[lsv1alpha1.OperationAnnotation] != "":
		delete(item.Annotations, lsv1alpha1.OperationAnnotation)
		return d.Update(ctx, item)
	}
	return d.deploy(ctx, item)
}

// concerns reports whether there is anything to do.
func (d *byHand) concerns(item *lsv1alpha1.DeployItem) bool {
	if !item.DeletionTimestamp.IsZero() && item.Annotations[lsv1alpha1.DeleteWithoutUninstallAnnotation] == "true" {
		return d.breaks == "delete-without-uninstall"
	}
	status := &item.Status
	switch {
	case !status.IsFinished():
		return true
	case d.breaks == "idle" && status.JobID == "":
		return true
	case d.breaks == "again" && status.JobID != "" && status.TransitionTimes == nil:
		return true
	case d.breaks == "interrupt" && outcomeOf(item) == "stuck" && item.DeletionTimestamp.IsZero():
		return status.Phase == lsv1alpha1.PhaseFailed
	case d.breaks == "deletion" && !item.DeletionTimestamp.IsZero():
		return true
	}
	return item.Spec.Flow == lsv1alpha1.FlowContinuous && d.breaks != "continuous" && (!status.Phase.IsCompleted() ||
		status.ObservedGeneration != item.Generation || item.Annotations[lsv1alpha1.OperationAnnotation] != "" ||
		!item.DeletionTimestamp.IsZero())
}

func (d *byHand) pickUp(ctx context.Context, item *lsv1alpha1.DeployItem, phase lsv1alpha1.Phase) error {
	now := metav1.Now()
	if item.Status.IsFinished() && item.Status.JobID != "" { // so that "again" ends some time
		item.Status.TransitionTimes = &lsv1alpha1.TransitionTimes{TriggerTime: &now}
	}
	item.Status.Phase, item.Status.LastReconcileTime, item.Status.ObservedGeneration = phase, &now, item.Generation
	item.Status.Deployer = lsv1alpha1.DeployerInformation{Name: "by-hand", Identity: "one", Version: "v1"}
	return d.Status().Update(ctx, item)
}

func outcomeOf(item *lsv1alpha1.DeployItem) string {
	var config struct{ Outcome string }
	if item.Spec.Configuration != nil && json.Unmarshal(item.Spec.Configuration.Raw, &config) != nil {
		return "unreadable"
	}
	return config.Outcome
}

func (d *byHand) deploy(ctx context.Context, item *lsv1alpha1.DeployItem) error {
	switch outcomeOf(item) {
	case "stuck":
		return nil
	case "fail":
		if now := metav1.Now(); d.breaks != "failure" {
			item.Status.LastError = &lsv1alpha1.Error{
				Operation: "Deploy", Reason: "Asked", Message: "it was asked to fail", LastTransitionTime: now, LastUpdateTime: now,
			}
		}
		return d.end(ctx, item, lsv1alpha1.PhaseFailed)
	}
	owner := metav1.OwnerReference{APIVersion: lsv1alpha1.SchemeGroupVersion.String(), Kind: "DeployItem", Name: item.Name, UID: item.UID}
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: item.Namespace, Name: item.Name + "-export", OwnerReferences: []metav1.OwnerReference{owner}},
		StringData: map[string]string{lsv1alpha1.ExportSecretKey: `{"greeting":"hello"}`},
	}
	if d.breaks == "exports" {
		secret.OwnerReferences = nil
	}
	if err := d.Create(ctx, secret); err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	item.Status.ExportReference = &lsv1alpha1.ObjectReference{Name: secret.Name, Namespace: secret.Namespace}
	return d.end(ctx, item, lsv1alpha1.PhaseSucceeded)
}

func (d *byHand) end(ctx context.Context, item *lsv1alpha1.DeployItem, phase lsv1alpha1.Phase) error {
	item.Status.Phase, item.Status.ObservedGeneration = phase, item.Generation
	if d.breaks == "one write" {
		if err := d.Status().Update(ctx, item); err != nil {
			return err
		}
	}
	item.Status.JobIDFinished = item.Status.JobID
	return d.Status().Update(ctx, item)
}

func (d *byHand) remove(ctx context.Context, item *lsv1alpha1.DeployItem) error {
	if item.Status.Phase != lsv1alpha1.PhaseDeleting {
		return d.pickUp(ctx, item, lsv1alpha1.PhaseDeleting)
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: item.Namespace, Name: item.Name + "-export"}}
	if err := client.IgnoreNotFound(d.Delete(ctx, secret)); err != nil {
		return err
	}
	item.Finalizers = slices.DeleteFunc(item.Finalizers, func(name string) bool { return name == lsv1alpha1.Finalizer })
	return d.Update(ctx, item)
}

var byHandInputs = inputs{
	itemType: byHandType,
	config:   byHandConfig("succeed"),
	stuck:    byHandConfig("stuck"),
	broken:   byHandConfig("fail"),
	args:     []string{"--export=greeting"},
}

// withByHand is a world with a deployer by hand.
func withByHand(t *testing.T, breaks string) *managed.World {
	t.Helper()
	world := managed.NewWorld(t, managed.Controllers("deployitems"))
	world.Manage()
	(&byHand{WithWatch: world.Client(), breaks: breaks}).work(t, world.Namespace)
	return world
}

func TestADeployerThatFollowsTheRulesByHandKeepsTheContract(t *testing.T) {
	t.Parallel()
	keepsAll(t, withByHand(t, ""), byHandInputs)
}

func TestEachRuleCanBeBroken(t *testing.T) {
	for breaks, test := range map[string]struct {
		rule, want string
		args       []string
	}{
		"the pick-up":              {rule: "pick-up", want: "the job ended without a pick-up"},
		"one write":                {rule: "pick-up", want: "phase Succeeded was written before status.jobIDFinished"},
		"idle":                     {rule: "idle", want: `an item that has no job was picked up by deployer "by-hand"`},
		"again":                    {rule: "again", want: "the item was worked on although its job had ended"},
		"unchanged":                {rule: "unchanged", want: "the item was picked up again although its spec had not changed"},
		"failure":                  {rule: "failure", want: "the job failed, and status.lastError does not say why"},
		"interrupt":                {rule: "interrupt", want: "the deployer overwrote the result of a finished job"},
		"exports":                  {rule: "exports", want: "has no owner reference to the deploy item"},
		"deletion":                 {rule: "deletion", want: "the item was deleted before it got a job for the deletion"},
		"delete-without-uninstall": {rule: "delete-without-uninstall", want: "the item was uninstalled although it has the annotation"},
		// What never happens is waited for until the time is up.
		"continuous": {rule: "continuous", want: "the end of the first run without a job was expected within 3s", args: []string{"--timeout=3s"}},
	} {
		t.Run(breaks, func(t *testing.T) {
			t.Parallel()
			world := withByHand(t, breaks)
			call := byHandInputs.call(t, append([]string{"-o", "json", "--rule=" + test.rule}, test.args...)...)
			got := clitest.Run(t, world.APIServer, world.Namespace, call)
			if said := outcomes(t, got)[test.rule]; got.Code != cli.ExitFailed || !strings.HasPrefix(said, "Broken: ") ||
				!strings.Contains(said, test.want) {
				t.Errorf("exit code %d, %q; want %q\n%s", got.Code, said, test.want, got.Stderr)
			}
		})
	}
}

// The same deployer breaks the rule about time by writing over what the controller has ended.
func TestATimeThatIsUpMustStayUp(t *testing.T) {
	t.Parallel()
	world := withByHand(t, "interrupt")
	got := clitest.Run(t, world.APIServer, world.Namespace, byHandInputs.call(t, "--rule=timeout"))
	if got.Code != cli.ExitFailed || !strings.Contains(got.Stdout, "timeout   Broken    the deployer overwrote the result of a finished job") {
		t.Errorf("exit code %d:\n%s%s", got.Code, got.Stdout, got.Stderr)
	}
}

func TestAStuckConfigurationThatIsNotStuckIsTold(t *testing.T) {
	t.Parallel()
	in := byHandInputs
	in.stuck = in.broken
	world := withByHand(t, "the pick-up") // so that the interrupt cannot come first
	got := clitest.Run(t, world.APIServer, world.Namespace, in.call(t, "--rule=interrupt", "-o=json"))
	if got.Code != cli.ExitFailed || !strings.Contains(outcomes(t, got)["interrupt"], "--stuck must be a configuration with which a job does not finish") {
		t.Errorf("exit code %d:\n%s%s", got.Code, got.Stdout, got.Stderr)
	}
}

func TestAClusterWithoutTheDeployerIsTold(t *testing.T) {
	t.Parallel()
	world := managed.NewWorld(t)
	got := clitest.Run(t, world.APIServer, world.Namespace, byHandInputs.call(t, "--rule=pick-up", "--timeout=1s"))
	if got.Code != cli.ExitFailed || !strings.Contains(got.Stdout, "the end of the job (status.jobIDFinished = status.jobID) was expected within 1s") {
		t.Errorf("exit code %d:\n%s%s", got.Code, got.Stdout, got.Stderr)
	}
	nothingLeft(t, world)
}

// Ctrl-C ends a rule, and what was created for it goes as after every other rule.
func TestAnInterruptLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	world := withByHand(t, "")
	in := byHandInputs
	in.config = in.stuck
	items, err := world.Client().Watch(t.Context(), &lsv1alpha1.DeployItemList{}, client.InNamespace(world.Namespace))
	if err != nil {
		t.Fatal(err)
	}
	defer items.Stop()
	running := clitest.Start(t, world.APIServer, world.Namespace, in.call(t, "--rule=pick-up"))
	running.Until(t, "trying pick-up")
	for busy, limit := false, time.After(testkit.Patience); !busy; {
		select {
		case event := <-items.ResultChan():
			item, known := event.Object.(*lsv1alpha1.DeployItem)
			busy = known && item.Status.Phase == lsv1alpha1.PhaseProgressing
		case <-limit:
			t.Fatal("the deployer picks up nothing")
		}
	}
	running.Interrupt()
	got := running.Wait(t)
	if got.Code != cli.ExitDetached || got.Stdout != "" || !strings.Contains(got.Stderr, "interrupted; deleting the deploy items of this rule") ||
		!strings.Contains(got.Stderr, "error: cannot try the rules: interrupted\n") {
		t.Errorf("%+v", got)
	}
	nothingLeft(t, world)
}
