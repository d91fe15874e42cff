// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package steer_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	pipelines "espalier.dev/api/pipelines/v1alpha1"
	"espalier.dev/internal/pipeline"
	"espalier.dev/internal/steer"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/clitest"
	"espalier.dev/internal/testkit/faults"
)

func TestMain(m *testing.M) { testkit.MainWithOthers(m) }

// world is a namespace with a user who sends requests, over a connection that may fail.
type world struct {
	*testkit.World
	transport *faults.Transport
	ask       steer.Asker
}

func newWorld(t *testing.T, plan string) *world {
	t.Helper()
	w := &world{World: testkit.NewWorld(t), transport: faults.New(faults.MustParse(plan))}
	scheme, err := testkit.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	c, err := client.NewWithWatch(w.transport.Config(w.Config()), client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	w.ask = steer.Asker{Client: c}
	return w
}

// installation creates an installation.
func (w *world) installation(change func(*testkit.InstallationBuilder)) *lsv1alpha1.Installation {
	w.Helper()
	builder := testkit.Installation(w.Namespace, "shop")
	if change != nil {
		change(builder)
	}
	root := builder.Build()
	w.Create(root)
	return root
}

// operation returns the pending operation of an installation.
func (w *world) operation(root *lsv1alpha1.Installation) string {
	w.Helper()
	current := root.DeepCopy()
	if !w.Read(current) {
		return "gone"
	}
	return current.Annotations[lsv1alpha1.OperationAnnotation]
}

// touch is a write by somebody else that does not affect the request.
func (w *world) touch(object client.Object) {
	w.Annotate(object.DeepCopyObject().(client.Object), "example.com/touched", "yes")
}

// replace deletes an object and creates another one of the same name.
func (w *world) replace(object, successor client.Object) {
	w.Delete(object.DeepCopyObject().(client.Object))
	testkit.EventuallyGone(w.T, w.APIServer, object)
	w.Create(successor)
}

// wishes are all possible requests to an installation, with the operation that they leave.
var wishes = map[string]struct {
	prepare   func(*testkit.InstallationBuilder)
	wish      func(w *world, root *lsv1alpha1.Installation) error
	operation string
}{
	"reconcile": {wish: reconcile, operation: "reconcile"},
	"force": {
		prepare: func(b *testkit.InstallationBuilder) { b.Continuous() },
		wish: func(w *world, root *lsv1alpha1.Installation) error {
			_, _, err := w.ask.Force(w.Context(), root)
			return err
		},
		operation: "force-reconcile",
	},
	"interrupt": {wish: interrupt, operation: "interrupt"},
	"abort":     {prepare: func(b *testkit.InstallationBuilder) { b.Continuous() }, wish: interrupt, operation: "abort"},
	"suspend":   {wish: suspend(false), operation: ""},
	"resume": {
		prepare: func(b *testkit.InstallationBuilder) { b.Annotate(lsv1alpha1.SuspendAnnotation, "true") },
		wish:    suspend(true), operation: "",
	},
	"delete": {wish: remove(false), operation: "gone"},
	"forget": {wish: remove(true), operation: "gone"},
}

func reconcile(w *world, root *lsv1alpha1.Installation) error {
	_, _, err := w.ask.Reconcile(w.Context(), root)
	return err
}

func interrupt(w *world, root *lsv1alpha1.Installation) error {
	_, err := w.ask.Interrupt(w.Context(), root)
	return err
}

func suspend(resume bool) func(*world, *lsv1alpha1.Installation) error {
	return func(w *world, root *lsv1alpha1.Installation) error {
		_, err := w.ask.Suspend(w.Context(), root, steer.SuspendChange{Resume: resume})
		return err
	}
}

func remove(withoutUninstall bool) func(*world, *lsv1alpha1.Installation) error {
	return func(w *world, root *lsv1alpha1.Installation) error {
		return w.ask.Delete(w.Context(), root, withoutUninstall)
	}
}

func TestEveryWishOfAnInstallation(t *testing.T) {
	for name, c := range wishes {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, "")
			root := w.installation(c.prepare)
			if err := c.wish(w, root); err != nil || w.operation(root) != c.operation {
				t.Errorf("the operation is %q: %v", w.operation(root), err)
			}
		})
	}
}

// A finalizer keeps the object, so that the test can see how it will be deleted.
func TestADeletionCanLeaveWhatWasDeployed(t *testing.T) {
	for _, without := range []bool{false, true} {
		w := newWorld(t, "")
		root := w.installation(func(b *testkit.InstallationBuilder) { b.Finalizer("example.com/kept") })
		if err := w.ask.Delete(t.Context(), root, without); err != nil {
			t.Fatal(err)
		}
		w.Read(root)
		_, marked := root.Annotations[lsv1alpha1.DeleteWithoutUninstallAnnotation]
		if root.DeletionTimestamp == nil || marked != without {
			t.Errorf("without uninstalling %t: deleted at %v, annotations %v", without, root.DeletionTimestamp, root.Annotations)
		}
		w.Patch(root, `{"metadata":{"finalizers":null}}`)
	}
}

// A mark that stayed would make a later deletion leave what was deployed.
func TestADeletionThatIsRefusedMarksNothing(t *testing.T) {
	for name, wish := range map[string]func(*world, *lsv1alpha1.Installation) error{
		"without uninstalling": func(w *world, root *lsv1alpha1.Installation) error { return w.ask.Delete(w.Context(), root, true) },
		"forced":               func(w *world, root *lsv1alpha1.Installation) error { return w.ask.DeleteAnyway(w.Context(), root) },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, "delete/installations:1:503")
			root := w.installation(nil)
			if err := wish(w, root); !apierrors.IsServiceUnavailable(err) {
				t.Errorf("the error is %v", err)
			}
			if !w.Read(root) || len(root.Annotations) > 0 {
				t.Errorf("it is marked with %v", root.Annotations)
			}
		})
	}
}

// A write by somebody else between the read and the request does not stop the request, and is not lost.
func TestAConcurrentWriter(t *testing.T) {
	for name, c := range wishes {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, "")
			root := w.installation(c.prepare)
			seen := root.DeepCopy()
			w.transport.Before(1, func() { w.touch(seen) })
			if err := c.wish(w, root); err != nil || w.operation(root) != c.operation {
				t.Errorf("the operation is %q: %v", w.operation(root), err)
			}
			if w.Read(root); c.operation != "gone" && root.Annotations["example.com/touched"] != "yes" {
				t.Errorf("what the other has written is lost: %v", root.Annotations)
			}
		})
	}
}

// A deleted object is not found, even if another one has taken its name: that one is left alone.
func TestAnObjectThatIsGone(t *testing.T) {
	for name, c := range wishes {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, "")
			root := w.installation(c.prepare)
			seen := root.DeepCopy()
			w.transport.Before(1, func() { w.Delete(seen) })
			if err := c.wish(w, root); !apierrors.IsNotFound(err) || !errors.As(err, new(*steer.Error)) {
				t.Errorf("the error is %v", err)
			}
		})
		t.Run(name+" and replaced", func(t *testing.T) {
			w := newWorld(t, "")
			root := w.installation(c.prepare)
			seen, successor := root.DeepCopy(), testkit.Installation(w.Namespace, "shop").Build()
			w.transport.Before(1, func() { w.replace(seen, successor) })
			err := c.wish(w, root)
			if !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) || !errors.As(err, new(*steer.Error)) {
				t.Errorf("the error is %v", err)
			}
			if !w.Read(successor) || len(successor.Annotations) != 0 || successor.DeletionTimestamp != nil {
				t.Errorf("the wish has hit the successor: %v %v", successor.Annotations, successor.DeletionTimestamp)
			}
		})
	}
}

// The request is executed, but the response is lost: a repetition, with or without another read, changes nothing more.
func TestALostAnswer(t *testing.T) {
	for name, c := range wishes {
		for _, looks := range []bool{true, false} {
			for _, fault := range []string{"write:1:lost", "write:1:lost-timeout"} {
				t.Run(name+" "+fault, func(t *testing.T) {
					w := newWorld(t, fault)
					root := w.installation(func(b *testkit.InstallationBuilder) {
						if b.Finalizer("example.com/kept"); c.prepare != nil {
							c.prepare(b)
						}
					})
					stale := root.DeepCopy()
					if err := c.wish(w, root); err == nil || apierrors.IsNotFound(err) {
						t.Fatalf("the answer was lost, and the error is %v", err)
					}
					w.Read(root)
					after := root.DeepCopy()
					if looks {
						stale = root.DeepCopy()
					}
					if err := c.wish(w, stale); err != nil {
						t.Fatalf("the second time: %v", err)
					}
					w.Read(root)
					// A mark before the deletion is a separate write, so the deletion is still to come then.
					if root.ResourceVersion != after.ResourceVersion && name != "forget" {
						t.Errorf("the second time something has changed: %v, then %v", after, root)
					}
					w.Patch(root, `{"metadata":{"finalizers":null}}`)
				})
			}
		}
	}
}

// There is room for one operation: the same one counts as one request, another one is awaited, and a job gives way to an interrupt.
func TestAnOperationThatStands(t *testing.T) {
	w := newWorld(t, "")
	root := w.installation(nil)
	first, already, err := w.ask.Reconcile(t.Context(), root)
	if err != nil || already || first.ResourceVersion == root.ResourceVersion {
		t.Fatalf("the first: already %t, %v", already, err)
	}
	if second, already, err := w.ask.Reconcile(t.Context(), root); err != nil || !already || second.ResourceVersion != first.ResourceVersion {
		t.Errorf("the second: already %t, %v", already, err)
	}
	if dropped, err := w.ask.Interrupt(t.Context(), root); err != nil || !dropped || w.operation(root) != "interrupt" {
		t.Errorf("the interrupt: dropped %t, %v", dropped, err)
	}
	if dropped, err := w.ask.Interrupt(t.Context(), root); err != nil || dropped {
		t.Errorf("the second interrupt: dropped %t, %v", dropped, err)
	}
	var notTaken *steer.NotTaken
	if _, _, err := w.ask.Reconcile(t.Context(), root); !errors.As(err, &notTaken) || notTaken.Pending != lsv1alpha1.OperationInterrupt {
		t.Errorf("a job while an interrupt stands: %v", err)
	}
	if err := w.ask.Delete(t.Context(), root, false); err != nil {
		t.Errorf("a deletion while an interrupt stands: %v", err)
	}
}

// What a suspension holds back is not accepted before its end, so nobody waits for that: force includes a reconcile. An abort is accepted.
func TestAnOperationThatIsHeldBack(t *testing.T) {
	for name, c := range map[string]struct {
		pending, wish, left string
		already             bool
	}{
		"force over reconcile": {"reconcile", "force", "force-reconcile", false},
		"reconcile over force": {"force-reconcile", "reconcile", "force-reconcile", true},
		"force over force":     {"force-reconcile", "force", "force-reconcile", true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, "")
			w.ask.Patience = testkit.Patience
			w.ask.Tell = func(format string, args ...any) { t.Errorf(format, args...) }
			root := w.installation(func(b *testkit.InstallationBuilder) {
				b.Continuous().Annotate(lsv1alpha1.SuspendAnnotation, "true").Annotate(lsv1alpha1.OperationAnnotation, c.pending)
			})
			ask := map[string]func(context.Context, *lsv1alpha1.Installation) (*lsv1alpha1.Installation, bool, error){
				"force": w.ask.Force, "reconcile": w.ask.Reconcile,
			}[c.wish]
			if _, already, err := ask(t.Context(), root); err != nil || already != c.already || w.operation(root) != c.left {
				t.Errorf("the operation is %q, already %t: %v", w.operation(root), already, err)
			}
		})
	}
	w := newWorld(t, "")
	root := w.installation(func(b *testkit.InstallationBuilder) {
		b.Continuous().Annotate(lsv1alpha1.SuspendAnnotation, "true").Annotate(lsv1alpha1.OperationAnnotation, "abort")
	})
	if err := reconcile(w, root); !errors.As(err, new(*steer.NotTaken)) || w.operation(root) != "abort" {
		t.Errorf("the operation is %q: %v", w.operation(root), err)
	}
}

// waiting starts a reconcile while another operation is pending, and returns when it waits.
func waiting(t *testing.T, w *world, root *lsv1alpha1.Installation) (ended chan error) {
	t.Helper()
	w.Annotate(root, lsv1alpha1.OperationAnnotation, "interrupt")
	waits := make(chan struct{})
	ended = make(chan error, 1)
	w.ask.Patience, w.ask.Tell = testkit.Patience, func(string, ...any) { close(waits) }
	seen := root.DeepCopy()
	go func() { ended <- reconcile(w, seen) }()
	<-waits
	return ended
}

func TestAnOperationIsAwaited(t *testing.T) {
	t.Run("taken", func(t *testing.T) {
		w := newWorld(t, "")
		root := w.installation(nil)
		ended := waiting(t, w, root)
		w.touch(root) // This is not the awaited change.
		w.Patch(root.DeepCopy(), `{"metadata":{"annotations":{"`+lsv1alpha1.OperationAnnotation+`":null}}}`)
		if err := <-ended; err != nil || w.operation(root) != "reconcile" {
			t.Errorf("the operation is %q: %v", w.operation(root), err)
		}
	})
	t.Run("the watch breaks", func(t *testing.T) {
		w := newWorld(t, "")
		root := w.installation(nil)
		ended := waiting(t, w, root)
		w.transport.Cut("installations")
		w.transport.Expire("installations")
		w.Patch(root.DeepCopy(), `{"metadata":{"annotations":{"`+lsv1alpha1.OperationAnnotation+`":null}}}`)
		if err := <-ended; err != nil || w.operation(root) != "reconcile" {
			t.Errorf("the operation is %q: %v", w.operation(root), err)
		}
	})
	t.Run("gone", func(t *testing.T) {
		w := newWorld(t, "")
		root := w.installation(nil)
		ended := waiting(t, w, root)
		w.Delete(root)
		if err := <-ended; !apierrors.IsNotFound(err) {
			t.Errorf("the error is %v", err)
		}
	})
	t.Run("replaced", func(t *testing.T) {
		w := newWorld(t, "")
		root := w.installation(nil)
		ended := waiting(t, w, root)
		successor := testkit.Installation(w.Namespace, "shop").Build()
		w.replace(root, successor)
		if err := <-ended; !apierrors.IsNotFound(err) || w.operation(successor) != "" {
			t.Errorf("the successor is asked for %q: %v", w.operation(successor), err)
		}
	})
	t.Run("not taken", func(t *testing.T) {
		w := newWorld(t, "")
		root := w.installation(nil)
		w.Annotate(root, lsv1alpha1.OperationAnnotation, "interrupt")
		w.ask.Patience = time.Second
		if err := reconcile(w, root); !errors.As(err, new(*steer.NotTaken)) {
			t.Errorf("the error is %v", err)
		}
	})
}

// line creates a pipeline in which revision 1.3.0 waits for production, in a state that the decision is for.
func (w *world) line(action pipelines.RequestAction) *pipelines.Pipeline {
	w.Helper()
	line := clitest.Line(w.T, w.APIServer, w.Namespace)
	w.Read(line) // with its status
	if action == pipelines.RequestRetry {
		w.PatchStatus(line, `{"status":{"environments":{"production":{"promotion":{"state":"`+string(pipelines.PromotionFailed)+`"}}}}}`)
	}
	return line
}

func decision(action pipelines.RequestAction) steer.Decision {
	return steer.Decision{Action: action, Environment: "production", Message: "as agreed", Time: time.Now()}
}

var actions = []pipelines.RequestAction{
	pipelines.RequestApprove, pipelines.RequestReject, pipelines.RequestPromote, pipelines.RequestRetry,
}

// requests returns the pending requests of a pipeline.
func (w *world) requests(line *pipelines.Pipeline) []pipeline.Request {
	w.Helper()
	current := line.DeepCopy()
	w.Read(current)
	return pipeline.ReadRequests(current.Annotations)
}

func TestEveryDecision(t *testing.T) {
	for _, action := range actions {
		t.Run(string(action), func(t *testing.T) {
			w := newWorld(t, "")
			line := w.line(action)
			seen := line.DeepCopy()
			w.transport.Before(1, func() { w.touch(seen) })
			outcome, err := w.ask.Decide(t.Context(), line, decision(action))
			if err != nil || outcome.Already || outcome.Made {
				t.Fatalf("%+v, %v", outcome, err)
			}
			there := w.requests(line)
			if len(there) != 1 || there[0].ID != outcome.Request.ID || there[0].Action != action || there[0].Revision != "1.3.0" ||
				there[0].Run != 4 ||
				there[0].By == "" || there[0].Message != "as agreed" || there[0].Environment != "production" {
				t.Errorf("there is %+v", there)
			}
		})
	}
}

// The same decision twice counts once, even if the response to the first one was lost; the ID of the first one counts.
func TestADecisionTwice(t *testing.T) {
	for _, action := range actions {
		for _, plan := range []string{"", "write:1:lost", "write:1:lost-timeout"} {
			t.Run(string(action)+" "+plan, func(t *testing.T) {
				w := newWorld(t, plan)
				line := w.line(action)
				stale := line.DeepCopy()
				if _, err := w.ask.Decide(t.Context(), line, decision(action)); (err == nil) != (plan == "") {
					t.Fatalf("the first: %v", err)
				}
				first := w.requests(line)
				w.Read(line)
				for _, again := range []*pipelines.Pipeline{stale, line} {
					outcome, err := w.ask.Decide(t.Context(), again, decision(action))
					there := w.requests(line)
					if err != nil || !outcome.Already || len(there) != 1 || there[0].ID != first[0].ID || outcome.Request.ID != first[0].ID {
						t.Errorf("%+v, %v; there is %+v", outcome, err, there)
					}
				}
			})
		}
	}
}

func TestDecisionsThatCannotBe(t *testing.T) {
	w := newWorld(t, "")
	line := w.line(pipelines.RequestApprove)
	if _, err := w.ask.Decide(t.Context(), line, decision("explode")); err == nil {
		t.Error("there is a decision to explode")
	}
	var refused *pipeline.Refusal
	other := decision(pipelines.RequestApprove)
	other.Revision = "0.1.0"
	if _, err := w.ask.Decide(t.Context(), line, other); !errors.As(err, &refused) || refused.Reason != pipeline.RefusedStale {
		t.Errorf("another revision: %v", err)
	}
	if len(w.requests(line)) != 0 {
		t.Error("what was refused has been handed in")
	}
	if _, err := w.ask.Decide(t.Context(), line, decision(pipelines.RequestApprove)); err != nil {
		t.Fatal(err)
	}
	w.Read(line)
	var occupied *steer.Occupied
	if _, err := w.ask.Decide(t.Context(), line, decision(pipelines.RequestReject)); !errors.As(err, &occupied) ||
		occupied.Pending.Action != pipelines.RequestApprove {
		t.Errorf("another decision while one stands: %v", err)
	}
	w.PatchStatus(line, `{"status":{"environments":{"production":{"promotion":{"state":"`+string(pipelines.PromotionComplete)+`"}}}}}`)
	if outcome, err := w.ask.Decide(t.Context(), line, decision(pipelines.RequestPromote)); err != nil || !outcome.Made ||
		outcome.Answer == "" {
		t.Errorf("what has happened before: %+v, %v", outcome, err)
	}
}

// An answered request makes room for the next one, although it still exists.
func TestAnAnsweredDecisionMakesRoom(t *testing.T) {
	w := newWorld(t, "")
	line := w.line(pipelines.RequestApprove)
	first, err := w.ask.Decide(t.Context(), line, decision(pipelines.RequestApprove))
	if err != nil {
		t.Fatal(err)
	}
	w.Read(line)
	w.SetStatus(line, map[string]any{"requests": []pipelines.RequestStatus{{
		ID: first.Request.ID, Action: pipelines.RequestApprove, Environment: "production", Accepted: false, Time: clitest.Before(1),
	}}})
	second, err := w.ask.Decide(t.Context(), line, decision(pipelines.RequestReject))
	if there := w.requests(line); err != nil || len(there) != 1 || there[0].ID != second.Request.ID {
		t.Errorf("%+v, %v; there is %+v", second, err, there)
	}
}

func TestAPipelineThatIsGone(t *testing.T) {
	for name, wish := range map[string]func(*world, *pipelines.Pipeline) error{
		"decision": func(w *world, line *pipelines.Pipeline) error {
			_, err := w.ask.Decide(w.Context(), line, decision(pipelines.RequestApprove))
			return err
		},
		"hold": func(w *world, line *pipelines.Pipeline) error {
			_, err := w.ask.Hold(w.Context(), line, steer.HoldChange{Environment: "production", Time: time.Now()})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, "")
			line := w.line(pipelines.RequestApprove)
			seen := line.DeepCopy()
			w.transport.Before(1, func() { w.Delete(seen) })
			if err := wish(w, line); !apierrors.IsNotFound(err) || !errors.As(err, new(*steer.Error)) {
				t.Errorf("the error is %v", err)
			}
		})
		t.Run(name+" and replaced", func(t *testing.T) {
			w := newWorld(t, "")
			line := w.line(pipelines.RequestApprove)
			seen := line.DeepCopy()
			successor := testkit.Pipeline(w.Namespace, "shop").Notification().Environment("dev", "shop-dev").Environment("production", "shop").Build()
			w.transport.Before(1, func() { w.replace(seen, successor) })
			if err := wish(w, line); !apierrors.IsNotFound(err) {
				t.Errorf("the error is %v", err)
			}
			if !w.Read(successor) || len(successor.Annotations) != 0 {
				t.Errorf("the wish has hit the successor: %v", successor.Annotations)
			}
		})
	}
}

func TestHolds(t *testing.T) {
	for _, environment := range []string{"production", ""} {
		w := newWorld(t, "")
		line := w.line(pipelines.RequestApprove)
		for _, step := range []struct {
			message         string
			release, change bool
			said            string
		}{
			{release: true, said: "not held"},
			{message: "audit", change: true, said: "held"},
			{message: "audit", said: "already held"},
			{message: "", said: "already held"},
			{message: "vacation", change: true, said: "held"},
			{release: true, change: true, said: "released"},
			{release: true, said: "not held"},
			{message: "", change: true, said: "held"},
		} {
			change := steer.HoldChange{Environment: environment, Message: step.message, Release: step.release, Time: time.Now()}
			w.Read(line)
			seen, write := line.DeepCopy(), len(w.transport.Log().Writes())+1
			w.transport.Before(write, func() { w.touch(seen) })
			changed, err := w.ask.Hold(t.Context(), line, change)
			if said := steer.SaidOfHold(change, changed); err != nil || changed != step.change || !strings.HasSuffix(said, " "+step.said) {
				t.Errorf("%+v of %q: changed %t, said %q, %v", step, environment, changed, said, err)
			}
			w.Read(line)
			if holds := pipeline.ReadHolds(line.Annotations); step.change && (len(holds) == 0) != step.release ||
				step.change && !step.release && (holds[0].Message != step.message || holds[0].Environment != environment || holds[0].By == "") {
				t.Errorf("%+v of %q: holds %+v", step, environment, holds)
			}
		}
	}
	w := newWorld(t, "")
	line := w.line(pipelines.RequestApprove)
	if _, err := w.ask.Hold(t.Context(), line, steer.HoldChange{Environment: "moon"}); !errors.As(err, new(*steer.UnknownEnvironment)) {
		t.Errorf("an environment that there is not: %v", err)
	}
	if changed, err := w.ask.Hold(t.Context(), line, steer.HoldChange{Environment: "moon", Release: true}); err != nil || changed {
		t.Errorf("the release of an environment that there is not: %t, %v", changed, err)
	}
}

// A hold, or a release, whose response was lost is not made twice.
func TestALostHold(t *testing.T) {
	for _, release := range []bool{false, true} {
		w := newWorld(t, "write:1:lost")
		line := w.line(pipelines.RequestApprove)
		if release {
			name, value := pipeline.UserHold{Environment: "production", Message: "audit", Time: time.Now()}.Text()
			w.Annotate(line, name, value)
		}
		stale := line.DeepCopy()
		change := steer.HoldChange{Environment: "production", Release: release, Time: time.Now()}
		if !release {
			change.Message = "audit"
		}
		if _, err := w.ask.Hold(t.Context(), line, change); err == nil {
			t.Fatal("the answer has arrived")
		}
		w.Read(line)
		version := line.ResourceVersion
		for _, again := range []*pipelines.Pipeline{stale, line.DeepCopy()} {
			if changed, err := w.ask.Hold(t.Context(), again, change); err != nil || changed {
				t.Errorf("release %t, the second time: %t, %v", release, changed, err)
			}
		}
		if w.Read(line); line.ResourceVersion != version || (len(pipeline.ReadHolds(line.Annotations)) == 0) != release {
			t.Errorf("release %t: something has changed the second time: %v", release, line.Annotations)
		}
	}
}
