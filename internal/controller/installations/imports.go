// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package installations

import (
	"cmp"
	"context"
	"fmt"
	"maps"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/dataflow"
	"espalier.dev/internal/installation"
	"espalier.dev/internal/tenancy"
)

// readsFrom is where to read imports that no job has marked.
type readsFrom bool

const (
	// fromCache is for installations that detect an outdated cache themselves.
	fromCache readsFrom = false
	// fromServer is for installations that were asked to check: the requester may have written the imports just before.
	fromServer readsFrom = true
)

// expectedScope returns the scope of an installation with the job that its imports must be of, and the versions of its predecessors'
// exports.
func (k *kind) expectedScope(
	ctx context.Context,
	inst *lsv1alpha1.Installation,
	run dataflow.Run,
) (scope dataflow.Scope, marks map[string]string, err error) {
	scope = installation.ScopeOf(inst)
	if !scope.IsRoot() && run.Flow != lsv1alpha1.FlowContinuous {
		scope.JobID = run.Version
		return scope, nil, nil
	}
	scope.Exported, marks = map[dataflow.ObjectID]string{}, map[string]string{}
	predecessors, err := relatedBy(ctx, k.cluster, inst, exportsIndex, installation.ImportsOf(inst))
	if err != nil {
		return scope, nil, err
	}
	for _, sibling := range predecessors {
		mark := installation.ExportMark(&sibling.Status)
		marks[sibling.Name] = mark
		if sibling.Status.Phase != lsv1alpha1.PhaseSucceeded || mark == "" {
			continue
		}
		for _, id := range installation.ExportsOf(sibling) {
			scope.Exported[id] = mark
		}
	}
	return scope, marks, nil
}

// importFacts reads the objects that the imports of an installation refer to.
func (k *kind) importFacts(
	ctx context.Context,
	scope dataflow.Scope,
	inst *lsv1alpha1.Installation,
	imports readsFrom,
) (facts dataflow.Facts, err error) {
	needs := dataflow.NeedsOf(scope, inst.Spec.Imports)
	fresh := bool(imports) && scope.JobID == ""
	contents := k.contents.reader(fresh)
	for _, name := range needs.DataObjects {
		object := &lsv1alpha1.DataObject{}
		found, err := k.contextObject(ctx, sought{scope, dataflow.ObjectID{Kind: kindDataObject, Name: name}, fresh}, object)
		if err != nil {
			return facts, err
		}
		if found {
			facts.DataObjects = append(facts.DataObjects, object)
		}
	}
	for _, name := range needs.Targets {
		target := &lsv1alpha1.Target{}
		found, err := k.contextObject(ctx, sought{scope, dataflow.ObjectID{Kind: kindTarget, Name: name}, fresh}, target)
		if err != nil {
			return facts, err
		}
		if found {
			facts.Targets = append(facts.Targets, target)
		}
	}
	if err := k.addElements(ctx, scope, needs.Elements, &facts); err != nil {
		return facts, err
	}
	if facts.Secrets, err = contents.all(ctx, kindSecret, inst.Namespace, needs.Secrets); err != nil {
		return facts, err
	}
	behind, err := contents.all(ctx, kindSecret, inst.Namespace, dataflow.SecretsOf(facts.Targets))
	if err != nil {
		return facts, err
	}
	maps.Copy(facts.Secrets, behind)
	facts.ConfigMaps, err = contents.all(ctx, kindConfigMap, inst.Namespace, needs.ConfigMaps)
	return facts, err
}

// sought is an object that an import refers to.
type sought struct {
	scope dataflow.Scope
	id    dataflow.ObjectID
	// fresh means that the cache may be outdated and must not be used.
	fresh bool
}

// asked returns where an installation reads imports when it starts. A job was requested; in the continuous flow, the installation notices
// changes, unless an operation requests a check.
func asked(inst *lsv1alpha1.Installation, run dataflow.Run) readsFrom {
	return readsFrom(run.Flow != lsv1alpha1.FlowContinuous || inst.Annotations[lsv1alpha1.OperationAnnotation] != "")
}

// contextObject reads an object that an import refers to. If it must be of a certain job and the cache shows none or another one,
// contextObject asks the API server: the caches of different kinds are not synchronous.
func (k *kind) contextObject(ctx context.Context, s sought, object client.Object) (bool, error) {
	key := client.ObjectKey{Namespace: s.scope.Namespace, Name: s.id.Name}
	err := k.cluster.Get(ctx, key, object)
	if s.fresh || s.outdated(object, err) {
		err = k.live.Get(ctx, key, object)
	}
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read %s %s: %w", s.id.Kind, key, err)
	}
	if err := tenancy.From(ctx).MayGet(ctx, resourceOf(s.id.Kind), key); err != nil {
		return false, fmt.Errorf("read %s %s: %w", s.id.Kind, key, err)
	}
	return true, nil
}

// outdated reports whether the cache shows another version of an object than the expected one, or none.
func (s sought) outdated(shown client.Object, err error) bool {
	expected := cmp.Or(s.scope.JobID, s.scope.Exported[s.id])
	switch {
	case apierrors.IsNotFound(err):
		return expected != ""
	case err != nil:
		return false
	default:
		return expected != "" && shown.GetLabels()[lsv1alpha1.DataObjectJobIDLabel] != expected
	}
}

// addElements adds the targets of lists and maps that the parent imports. It reads them from the API server: nothing else distinguishes an
// empty list from one that the cache does not show yet.
func (k *kind) addElements(ctx context.Context, scope dataflow.Scope, references []string, facts *dataflow.Facts) error {
	for _, reference := range references {
		var list lsv1alpha1.TargetList
		err := k.live.List(ctx, &list, client.InNamespace(scope.Namespace), client.MatchingLabels(scope.ElementLabels(reference)))
		if err != nil {
			return fmt.Errorf("list the targets of %s: %w", reference, err)
		}
		for i := range list.Items {
			facts.Targets = append(facts.Targets, &list.Items[i])
		}
	}
	return nil
}
