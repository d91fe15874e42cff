// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package container

import (
	"context"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	containerv1alpha1 "espalier.dev/api/deployer/container/v1alpha1"
	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/deployer"
	"espalier.dev/internal/deployer/objects/providerconfig"
	"espalier.dev/internal/deployitem"
	"espalier.dev/internal/failure"
	"espalier.dev/internal/tenancy"
)

// Name is the name of the controller.
const Name = "deployer-container"

// Deployer runs images.
type Deployer struct {
	options Options
	client  client.Client
	// live reads from the API server; pods come from a cache that holds only pods of deploy items.
	live client.Reader
	pods client.Reader
	// targets returns the content of a Target.
	targets func(context.Context, *lsv1alpha1.Target) ([]byte, error)
	wakers  wakers
}

var (
	_ deployer.Deployer     = (*Deployer)(nil)
	_ deployer.LongRepairer = (*Deployer)(nil)
)

// Type is the type of the deploy items.
func (d *Deployer) Type() lsv1alpha1.DeployItemType { return lsv1alpha1.DeployItemTypeContainer }

// Intend names the pod that is about to be created. All names follow from the item, so a crash leaves no unrecorded object behind.
func (d *Deployer) Intend(_ context.Context, work deployer.Work) (runtime.Object, error) {
	if _, err := d.readConfiguration(work.Item); err != nil {
		return nil, err
	}
	status, err := readStatus(work.Item)
	if err != nil {
		return nil, err
	}
	if status.PodStatus.Run == "" && status.PodStatus.LastRun != nil {
		return status, nil // An earlier controller created a pod under another name.
	}
	status.PodStatus.PodName = namesOf(work.Item).pod()
	if status.LastOperation == "" {
		status.LastOperation = containerv1alpha1.OperationReconcile
	}
	return status, nil
}

// Deploy runs the image with the operation RECONCILE, once per job.
func (d *Deployer) Deploy(ctx context.Context, work deployer.Work) (deployer.Progress, error) {
	p, err := d.begin(work, containerv1alpha1.OperationReconcile)
	if err != nil {
		return deployer.Progress{}, err
	}
	p.origin, p.run = originJob, runOf(work.Item, p.operation)
	progress, err := p.advance(ctx)
	if progress.Done || failure.KindOf(err) == failure.Terminal {
		d.wakers.forget(work.Item.UID)
	}
	return progress, err
}

// Delete runs the image with the operation DELETE, and removes everything that was created for the item. The pod stays until the item
// is gone: if the process dies right before that, the pod proves that the image has run.
func (d *Deployer) Delete(ctx context.Context, work deployer.Work) (deployer.Progress, error) {
	status, err := readStatus(work.Item)
	if err != nil {
		return deployer.Progress{}, err
	}
	p := &pass{Deployer: d, work: work, status: status, operation: containerv1alpha1.OperationDelete}
	var progress deployer.Progress
	_, forced := work.Item.Annotations[containerv1alpha1.ForceCleanupAnnotation]
	if status.PodStatus.LastRun != nil && !forced {
		if p, err = d.begin(work, containerv1alpha1.OperationDelete); err != nil {
			return progress, unforced(err)
		}
		p.origin, p.run = originJob, runOf(work.Item, p.operation)
		if progress, err = p.advance(ctx); err != nil || !progress.Done {
			return progress, unforced(err)
		}
	} else if wait, err := p.endOthers(tenancy.Own(ctx)); err != nil || wait != nil {
		return deployer.Progress{Waiting: p.waiting(wait)}, err
	}
	ctx = tenancy.Own(ctx)
	if err := p.dropFormer(ctx); err != nil {
		return progress, err
	}
	if err := d.cleanUp(ctx, d.namespaceOf(work.Item), string(work.Item.UID)); err != nil {
		return progress, err
	}
	d.wakers.forget(work.Item.UID)
	return deployer.Progress{Done: true, ProviderStatus: progress.ProviderStatus}, nil
}

// NextRepair follows continuousReconcile, counted from the last run.
func (d *Deployer) NextRepair(item *lsv1alpha1.DeployItem, after time.Time) (time.Time, bool) {
	continuous := continuousReconcile(item)
	if continuous == nil {
		return time.Time{}, false
	}
	if status, err := readStatus(item); err == nil && status.PodStatus.EndedAt != nil && status.PodStatus.EndedAt.After(after) {
		after = status.PodStatus.EndedAt.Time
	}
	return providerconfig.NextRepair(continuous, after)
}

// Repair runs the image again.
func (d *Deployer) Repair(ctx context.Context, work deployer.Work) (deployer.Progress, error) {
	p, err := d.begin(work, containerv1alpha1.OperationReconcile)
	if err != nil {
		return deployer.Progress{}, err
	}
	pod := p.status.PodStatus
	p.origin, p.run = originContinuous, nextRun(work.Item, pod.Run)
	underWay, late := isUnderWay(pod), p.late()
	if underWay {
		p.run = pod.Run
	}
	progress, err := p.advance(ctx)
	progress.Exports = nil
	if underWay && late && isUnderWay(p.status.PodStatus) && progress.ProviderStatus != nil {
		return progress, p.timedOut(progress.Waiting, err)
	}
	if progress.Done {
		progress.Repaired = "image " + p.config.Image + " ran again and ended with exit code 0"
	}
	return progress, err
}

// IsRepairing reports whether the image runs again, or has ended and its result was not taken yet.
func (d *Deployer) IsRepairing(item *lsv1alpha1.DeployItem) bool {
	status, err := readStatus(item)
	return err == nil && isUnderWay(status.PodStatus)
}

func isUnderWay(pod *containerv1alpha1.PodStatus) bool { return pod.Run != "" && pod.EndedAt == nil }

// late reports whether a run without a job has exceeded the item's timeout.
func (p *pass) late() bool {
	began := p.status.PodStatus.LastRun
	if began == nil {
		return false
	}
	deadline, err := deployitem.DeadlineOf(p.work.Item, began.Time)
	return err == nil && !deadline.IsZero() && p.work.Now.After(deadline)
}

// timedOut ends a run without a job that takes too long. The error names what it last waited for, or what kept failing.
func (p *pass) timedOut(waiting deployer.Reason, err error) error {
	pod, last := p.status.PodStatus, waiting.Message
	pod.EndedAt = new(metav1.NewTime(p.work.Now))
	if err != nil {
		last = err.Error()
	}
	return failure.Terminalf(
		failure.Details{Operation: "Run", Reason: lsv1alpha1.ReasonProgressingTimeout, Codes: []string{string(lsv1alpha1.ErrorTimeout)}},
		"timed out after spec.timeout: %s (created at %s). The image is stopped. To allow more time, raise spec.timeout",
		last, pod.LastRun.UTC().Format(time.RFC3339))
}

func (d *Deployer) begin(work deployer.Work, operation containerv1alpha1.Operation) (*pass, error) {
	config, err := d.readConfiguration(work.Item)
	if err != nil {
		return nil, err
	}
	status, err := readStatus(work.Item)
	if err != nil {
		return nil, err
	}
	d.wakers.remember(work.Item.UID, work.Wake)
	return &pass{Deployer: d, work: work, config: config, status: status, operation: operation}, nil
}

// wakers queue items when their pods change. The zero value is ready.
type wakers struct {
	mu   sync.Mutex
	wake map[types.UID]func()
}

func (w *wakers) remember(uid types.UID, wake func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.wake == nil {
		w.wake = map[types.UID]func(){}
	}
	w.wake[uid] = wake
}

func (w *wakers) forget(uid types.UID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.wake, uid)
}

func (w *wakers) call(uid types.UID) {
	w.mu.Lock()
	wake := w.wake[uid]
	w.mu.Unlock()
	if wake != nil {
		wake()
	}
}
