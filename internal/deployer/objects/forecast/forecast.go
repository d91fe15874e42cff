// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package forecast

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/deployer"
	"espalier.dev/internal/component/credentials"
	"espalier.dev/internal/component/repository"
	"espalier.dev/internal/deployer/objects/apply"
	"espalier.dev/internal/deployer/objects/cluster"
	"espalier.dev/internal/deployer/objects/inventory"
	"espalier.dev/internal/deployer/objects/prune"
)

// Forecaster forecasts what a job changes in the targets of a deploy item. An item with a deletion timestamp is one that the job
// deletes. The clusters of the work must be reached through DryRun.
type Forecaster func(ctx context.Context, work deployer.Work, around Surroundings) (*Forecast, error)

// Work is the input of a deployer call.
type Work = deployer.Work

// Surroundings are the resources of deployers in addition to the work.
type Surroundings struct {
	// Host reads Contexts and Secrets in the namespaces of deploy items.
	Host client.Reader
	// Registries opens the repositories of a Context.
	Registries func(c *lsv1alpha1.Context, contents credentials.Contents, item types.UID, job string) (*repository.Repositories, error)
}

// Forecast is what a job changes for one deploy item.
type Forecast struct {
	Changes []Change
	// Notes list effects of the job that cannot be forecast.
	Notes []string
}

// Change is the forecast for one object. Before and After may be equal.
type Change struct {
	Subject cluster.Subject
	// Before is the current object; nil if it does not exist. After is the object after the job; nil if it is
	// gone.
	Before, After *unstructured.Unstructured
	// Unchecked is why the API server cannot check the object yet; After is then the rendered object.
	Unchecked string
	// Err is the API server's rejection. Then only the object concerned is known.
	Err error
}

// Apply forecasts the effect of applying objects. The inventory is the item's current one. The forecast is for the end of the job:
// patches are included.
func Apply(ctx context.Context, applier apply.Applier, objects []apply.Object, known inventory.Inventory) []Change {
	applier.Rehearsal = true
	changes := make([]Change, len(objects))
	cluster.Each(len(objects), func(i int) { changes[i] = applyOne(ctx, applier, objects[i], known) })
	return changes
}

func applyOne(ctx context.Context, applier apply.Applier, o apply.Object, known inventory.Inventory) Change {
	change := Change{Subject: cluster.SubjectOf(applier.Cluster, o.Manifest)}
	patched, err := o.Patched()
	if err != nil {
		change.Err = fmt.Errorf("%s: patchAfterDeployment cannot be applied to the manifest", o.Path)
		return change
	}
	entry, _ := known.Find(o.Key())
	entry.Policy = o.Policy
	outcome, err := applier.Apply(ctx, patched, entry)
	if err != nil {
		change.After, change.Unchecked = patched.Desired(applier.Owner), Unchecked(change.Subject, err)
		if change.Unchecked == "" {
			change.After, change.Err = nil, err
		}
		return change
	}
	change.Before, change.After = outcome.Before, outcome.Live
	switch outcome.Verdict {
	case apply.Released: // It does not change.
		change.After = change.Before
	case apply.Held:
		change.After, change.Unchecked = patched.Desired(applier.Owner), "being deleted; the job waits, and then recreates it"
	}
	return change
}

// Unchecked returns why a cluster cannot check an object yet: its namespace or its kind does not exist. It is empty for other errors.
func Unchecked(subject cluster.Subject, err error) string {
	status := apierrors.APIStatus(nil)
	var missing string
	if apierrors.IsNotFound(err) && errors.As(err, &status) && status.Status().Details != nil {
		missing = status.Status().Details.Kind
	}
	switch {
	case missing == "namespaces":
		return "Namespace " + subject.Key.Namespace + " does not exist yet"
	case apply.IsUnserved(err):
		return "the cluster does not serve kind " + subject.GVK.Kind + " of " + subject.GVK.GroupVersion().String() + " yet"
	}
	return ""
}

// Prune forecasts which objects are removed.
func Prune(ctx context.Context, run prune.Run) ([]Change, error) {
	doomed, err := run.Foresee(ctx)
	var changes []Change
	for _, each := range doomed {
		changes = append(changes, Change{Subject: each.Subject, Before: each.Live, Err: each.Err})
	}
	return changes, err
}

// Stay reports which objects must not be removed, because they are applied.
func Stay(objects []apply.Object) func(inventory.Key) bool {
	keys := map[inventory.Key]bool{}
	for _, o := range objects {
		keys[o.Key()] = true
	}
	return func(key inventory.Key) bool { return keys[key] }
}

// UIDs returns the UIDs of the existing objects among the changes.
func UIDs(changes []Change) map[types.UID]bool {
	result := map[types.UID]bool{}
	for _, change := range changes {
		if change.Before != nil {
			result[change.Before.GetUID()] = true
		}
	}
	return result
}
