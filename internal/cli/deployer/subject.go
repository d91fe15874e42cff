// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package deployer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	watchtools "k8s.io/client-go/tools/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
)

// subject is a deploy item under test, with all that has happened to it.
type subject struct {
	suite *suite
	name  string
	job   string // the last job that was begun
	jobs  int
	gone  bool
	// versions are all states of the object since its creation, up to where the history was read.
	versions []*lsv1alpha1.DeployItem
	history  *watchtools.RetryWatcher
}

// follow reads the history of an item from its creation on.
func follow(ctx context.Context, s *suite, created *lsv1alpha1.DeployItem) (*subject, error) {
	history, err := watchtools.NewRetryWatcherWithContext(context.WithoutCancel(ctx), created.ResourceVersion, &itemWatcher{s.Client, created})
	if err != nil {
		return nil, fmt.Errorf("watch deploy item %s: %w", created.Name, err)
	}
	return &subject{suite: s, name: created.Name, versions: []*lsv1alpha1.DeployItem{created}, history: history}, nil
}

// itemWatcher watches one item, and reconnects when the connection is lost.
type itemWatcher struct {
	client client.WithWatch
	item   *lsv1alpha1.DeployItem
}

func (w *itemWatcher) WatchWithContext(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	return w.client.Watch(ctx, &lsv1alpha1.DeployItemList{}, &client.ListOptions{
		Namespace:     w.item.Namespace,
		FieldSelector: fields.OneTermEqualSelector(metav1.ObjectNameField, w.item.Name),
		Raw:           &options,
	})
}

// last is the state up to which the history was read.
func (i *subject) last() *lsv1alpha1.DeployItem { return i.versions[len(i.versions)-1] }

// until reads the history until the state is as wanted, or gone. What is waited for is a clause: "the job is picked up".
func (i *subject) until(ctx context.Context, what string, wanted func(*lsv1alpha1.DeployItem) bool) error {
	deadline := time.NewTimer(i.suite.timeout)
	defer deadline.Stop()
	for !wanted(i.last()) {
		if i.gone {
			return violatedf("%s was expected, and the deploy item is gone", what)
		}
		select {
		case event, open := <-i.history.ResultChan():
			if err := i.take(event, open); err != nil {
				return err
			}
		case <-deadline.C:
			return violatedf("%s was expected within %s; %s", what, i.suite.timeout, describe(i.last()))
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// untilGone reads the history until the item does not exist any more.
func (i *subject) untilGone(ctx context.Context) error {
	err := i.until(ctx, "the deletion of the deploy item", func(*lsv1alpha1.DeployItem) bool { return i.gone })
	var broke *violation
	if errors.As(err, &broke) && i.gone {
		return nil
	}
	return err
}

func (i *subject) take(event watch.Event, open bool) error {
	if !open {
		return fmt.Errorf("the history of deploy item %s was lost: try again", i.name)
	}
	if event.Type == watch.Error {
		return apierrors.FromObject(event.Object)
	}
	item, known := event.Object.(*lsv1alpha1.DeployItem)
	if !known {
		return nil // a bookmark
	}
	i.versions = append(i.versions, item)
	i.gone = event.Type == watch.Deleted
	return nil
}

// catchUp reads the history up to now.
func (i *subject) catchUp(ctx context.Context) error {
	now := &lsv1alpha1.DeployItem{}
	err := i.suite.Client.Get(ctx, client.ObjectKey{Namespace: i.suite.Namespace, Name: i.name}, now)
	if apierrors.IsNotFound(err) {
		return i.untilGone(ctx)
	}
	if err != nil {
		return fmt.Errorf("read deploy item %s: %w", i.name, err)
	}
	return i.until(ctx, "what the API server shows", func(v *lsv1alpha1.DeployItem) bool { return v.ResourceVersion == now.ResourceVersion })
}

// begin starts a job, as the controller of executions does.
func (i *subject) begin(ctx context.Context) error {
	i.jobs++
	i.job = fmt.Sprintf("%s-%d", i.name, i.jobs)
	return i.patchStatus(ctx, map[string]any{"jobID": i.job, "jobIDGenerationTime": metav1.Now()})
}

// interrupt ends the job, as the controller of executions does.
func (i *subject) interrupt(ctx context.Context) error {
	now := metav1.Now()
	return i.patchStatus(ctx, map[string]any{
		"phase":         lsv1alpha1.PhaseFailed,
		"jobIDFinished": i.job,
		"lastError": lsv1alpha1.Error{
			Operation: "Interrupt", Reason: lsv1alpha1.ReasonInterrupted, Message: "interrupted by espalier deployer conformance",
			LastTransitionTime: now, LastUpdateTime: now,
		},
	})
}

func (i *subject) patchStatus(ctx context.Context, status map[string]any) error {
	return i.patch(ctx, map[string]any{"status": status}, func(o client.Object, p client.Patch) error {
		return i.suite.Client.Status().Patch(ctx, o, p)
	})
}

func (i *subject) patchObject(ctx context.Context, change map[string]any) error {
	return i.patch(ctx, change, func(o client.Object, p client.Patch) error { return i.suite.Client.Patch(ctx, o, p) })
}

// patch changes the item, and reads the history up to that change.
func (i *subject) patch(ctx context.Context, change map[string]any, send func(client.Object, client.Patch) error) error {
	text, err := json.Marshal(change)
	if err != nil {
		return fmt.Errorf("change deploy item %s: %w", i.name, err)
	}
	object := i.last().DeepCopy()
	if err := send(object, client.RawPatch(types.MergePatchType, text)); err != nil {
		return fmt.Errorf("change deploy item %s: %w", i.name, err)
	}
	return i.until(ctx, "the change of the deploy item", func(v *lsv1alpha1.DeployItem) bool { return v.ResourceVersion == object.ResourceVersion })
}

func (i *subject) delete(ctx context.Context) error {
	if err := client.IgnoreNotFound(i.suite.Client.Delete(ctx, i.last().DeepCopy())); err != nil {
		return fmt.Errorf("delete deploy item %s: %w", i.name, err)
	}
	return nil
}

// remove ends what is running and deletes the item with a separate job.
func (i *subject) remove(ctx context.Context) error {
	for _, step := range []func(context.Context) error{i.endJob, i.giveTime, i.delete, i.beginDeletion} {
		if err := i.catchUp(ctx); err != nil || i.gone {
			return err
		}
		if err := step(ctx); err != nil {
			return err
		}
	}
	return i.untilGone(ctx)
}

func (i *subject) endJob(ctx context.Context) error {
	if i.last().Status.IsFinished() || !i.last().DeletionTimestamp.IsZero() {
		return nil
	}
	return i.interrupt(ctx)
}

// giveTime lets the deletion of an item last longer than its jobs were allowed to: a deployer may have to run something for it.
func (i *subject) giveTime(ctx context.Context) error {
	if limit := i.last().Spec.Timeout; limit == nil || *limit != shortTime {
		return nil
	}
	return i.patchObject(ctx, map[string]any{"spec": map[string]any{"timeout": nil}})
}

// beginDeletion starts the job of a deletion, unless there is one. An item of the continuous flow may go without.
func (i *subject) beginDeletion(ctx context.Context) error {
	if !i.last().Status.IsFinished() {
		return nil
	}
	err := i.begin(ctx)
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// ends starts a job, and waits until it has ended in a phase.
func (i *subject) ends(ctx context.Context, phase lsv1alpha1.Phase) error {
	if err := i.begin(ctx); err != nil {
		return err
	}
	return i.ended(ctx, phase)
}

func (i *subject) succeeds(ctx context.Context) error { return i.ends(ctx, lsv1alpha1.PhaseSucceeded) }

// ended waits until the job that was started last has ended in a phase.
func (i *subject) ended(ctx context.Context, phase lsv1alpha1.Phase) error {
	finished := func(v *lsv1alpha1.DeployItem) bool { return v.Status.JobIDFinished == i.job }
	if err := i.until(ctx, "the end of the job (status.jobIDFinished = status.jobID)", finished); err != nil {
		return err
	}
	if i.last().Status.Phase != phase {
		return violatedf("the job was expected to end as %s; %s", phase, describe(i.last()))
	}
	return nil
}

// stuck starts a job that does not end by itself, and waits until its pick-up is stored.
func (i *subject) stuck(ctx context.Context) error {
	if err := i.begin(ctx); err != nil {
		return err
	}
	return i.until(ctx, "the pick-up (status.phase Progressing)", func(v *lsv1alpha1.DeployItem) bool {
		return i.isPickUp(v) || v.Status.JobIDFinished == i.job
	})
}

// checkInterrupted makes sure that it was the interrupt that has ended the job.
func (i *subject) checkInterrupted() error {
	at := slices.IndexFunc(i.versions, func(v *lsv1alpha1.DeployItem) bool { return v.Status.JobIDFinished == i.job })
	ended := i.versions[max(at, 0)]
	if e := ended.Status.LastError; e != nil && e.Reason == lsv1alpha1.ReasonInterrupted {
		return nil
	}
	return violatedf("the job was expected to continue; %s; --stuck must be a configuration with which a job does not finish", describe(ended))
}

func (i *subject) isPickUp(v *lsv1alpha1.DeployItem) bool {
	return v.Status.Phase == lsv1alpha1.PhaseProgressing && v.Status.JobID == i.job && !v.Status.IsFinished()
}

// since returns how many states there have been, and later reads those that came after.
func (i *subject) since() func() []*lsv1alpha1.DeployItem {
	count := len(i.versions)
	return func() []*lsv1alpha1.DeployItem { return i.versions[count:] }
}

// describe says how an item is doing, without anything that may be confidential.
func describe(v *lsv1alpha1.DeployItem) string {
	text := fmt.Sprintf("phase is %q, jobID %q, jobIDFinished %q", v.Status.Phase, v.Status.JobID, v.Status.JobIDFinished)
	if e := v.Status.LastError; e != nil {
		text += fmt.Sprintf(", and the last error is: %s", e.Message)
	}
	return text
}
