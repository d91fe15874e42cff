// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"context"
	"io"
	"time"

	"helm.sh/helm/v4/pkg/action"
	"helm.sh/helm/v4/pkg/kube"
	ri "helm.sh/helm/v4/pkg/release"
	release "helm.sh/helm/v4/pkg/release/v1"
	"helm.sh/helm/v4/pkg/storage"
	"helm.sh/helm/v4/pkg/storage/driver"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	helmv1alpha1 "espalier.dev/api/deployer/helm/v1alpha1"
	"espalier.dev/deployer"
	"espalier.dev/internal/deployer/helm/charts"
	"espalier.dev/internal/deployer/helm/render"
	"espalier.dev/internal/deployer/objects/inventory"
)

const (
	// maxHistory is the number of revisions kept of a release.
	maxHistory = 10
	// longest is the timeout of an operation if the item has none.
	longest = time.Hour
)

// handle works with one release in one cluster, during one call.
type handle struct {
	ctx       context.Context
	cluster   *deployer.Cluster
	reference helmv1alpha1.ReleaseReference
	owner     inventory.Owner
	actions   *action.Configuration
	kube      *kube.Client
	log       *logbook
	close     context.CancelFunc
	// rehearsal makes Helm prepare its operations without executing them. With adopts, objects that adopt would hand over to Helm
	// count as Helm's.
	rehearsal, adopts bool
}

// open returns a handle, which must be closed. It sends no request.
//
// Helm's operations do not get the context of the call: when that ends, they return but continue in the background. They end because their
// requests do, and have some extra time to record their failure.
func open(ctx context.Context, cluster *deployer.Cluster, reference helmv1alpha1.ReleaseReference, owner inventory.Owner) (*handle, error) {
	lasting, cancel := withGrace(ctx)
	records, err := corev1client.NewForConfig(boundTo(lasting, cluster.Config()))
	if err != nil {
		cancel()
		return nil, err
	}
	way, log := connect(ctx, cluster, reference.Namespace), &logbook{}
	objects := kube.New(way)
	objects.Namespace = reference.Namespace
	objects.SetLogger(log)
	secrets := driver.NewSecrets(records.Secrets(reference.Namespace))
	secrets.SetLogger(log)
	actions := action.NewConfiguration(action.ConfigurationSetLogger(log))
	actions.RESTClientGetter = way
	actions.KubeClient = objects
	actions.Releases = storage.Init(secrets)
	actions.Releases.MaxHistory = maxHistory
	actions.CustomTemplateFuncs = render.Functions()
	actions.HookOutputFunc = func(_, _, _ string) io.Writer { return io.Discard }
	return &handle{
		ctx: ctx, cluster: cluster, reference: reference, owner: owner, actions: actions, kube: objects, log: log, close: cancel,
	}, nil
}

// wish is the release that an item requires.
type wish struct {
	config *configuration
	chart  *charts.Package
}

// timeout is how long Helm may wait for one operation. An operation that is rolled back on failure needs time for that, too.
func (h *handle) timeout(undo bool) time.Duration {
	left := longest
	if deadline, limited := h.ctx.Deadline(); limited {
		left = time.Until(deadline)
	}
	if undo {
		left = left * 2 / 3
	}
	return max(left, time.Second)
}

func waitFor(wait bool) kube.WaitStrategy {
	if wait {
		return kube.StatusWatcherStrategy
	}
	return kube.HookOnlyStrategy
}

func (h *handle) waitOptions() []kube.WaitOption {
	return []kube.WaitOption{kube.WithWaitContext(h.ctx)}
}

// install creates the first revision, or the next one if the existing revisions of the name are ignored.
func (h *handle) install(w wish, next int) (*release.Release, error) {
	chart, err := w.chart.Load()
	if err != nil {
		return nil, err
	}
	options := w.config.install
	run := action.NewInstall(h.actions)
	run.ReleaseName, run.Namespace = h.reference.Name, h.reference.Namespace
	run.CreateNamespace = w.config.CreateNamespace
	run.Replace = next > 1
	run.Labels = h.labels(w, next)
	run.ServerSideApply = false // as Helm 3 did, and with it everybody who upgrades by "auto"
	run.ForceReplace = options.Force
	run.RollbackOnFailure = options.Atomic
	run.TakeOwnership = options.TakeOwnership
	if h.rehearsal {
		run.DryRunStrategy, run.TakeOwnership = action.DryRunServer, options.TakeOwnership || h.adopts
	}
	run.SkipSchemaValidation = true     // checked by render
	run.DisableOpenAPIValidation = true // it would only download megabytes to find out whether the API server validates fields
	run.WaitStrategy, run.WaitOptions = waitFor(options.Wait), h.waitOptions()
	run.Timeout = h.timeout(options.Atomic)
	if options.Atomic {
		// Helm's timeout starts when Helm starts to wait. The time left for a rollback must not depend on that.
		limited, cancel := context.WithTimeout(h.ctx, run.Timeout)
		defer cancel()
		run.WaitOptions = append(run.WaitOptions, kube.WithWaitMethodContext(limited))
	}
	made, err := run.RunWithContext(context.WithoutCancel(h.ctx), chart, copyOf(w.config.values))
	return asRelease(made), err
}

// upgrade creates the next revision. It uses only the item's values: Helm otherwise reuses those of the previous revision if the
// item has none.
func (h *handle) upgrade(w wish, next int) (*release.Release, error) {
	chart, err := w.chart.Load()
	if err != nil {
		return nil, err
	}
	options := w.config.upgrade
	run := action.NewUpgrade(h.actions)
	run.Namespace = h.reference.Namespace
	run.Labels = h.labels(w, next)
	run.ResetValues = true
	run.MaxHistory = maxHistory
	run.ServerSideApply = "auto"
	if options.Force {
		run.ForceReplace, run.ServerSideApply = true, "false"
	}
	run.RollbackOnFailure = options.Atomic
	run.TakeOwnership = options.TakeOwnership
	if h.rehearsal {
		run.DryRunStrategy, run.TakeOwnership = action.DryRunServer, options.TakeOwnership || h.adopts
	}
	run.SkipSchemaValidation = true     // checked by render
	run.DisableOpenAPIValidation = true // it would only download megabytes to find out whether the API server validates fields
	run.WaitStrategy, run.WaitOptions = waitFor(options.Wait), h.waitOptions()
	run.Timeout = h.timeout(options.Atomic)
	made, err := run.RunWithContext(context.WithoutCancel(h.ctx), h.reference.Name, chart, copyOf(w.config.values))
	return asRelease(made), err
}

func asRelease(made ri.Releaser) *release.Release {
	result, _ := made.(*release.Release)
	return result
}
