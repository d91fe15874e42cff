// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package installations

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/dataflow"
	"espalier.dev/internal/installation"
)

const installationKind = "Installation"

// Observe implements loop.Kind.
func (k *kind) Observe(ctx context.Context, inst *lsv1alpha1.Installation, now time.Time) (installation.Observed, error) {
	k.quotas.observed(inst)
	ends, err := k.namespaces.Ends(ctx, inst.Namespace)
	if err != nil {
		return installation.NewObserved(installation.Snapshot{Installation: inst, Now: now}), err
	}
	if ends {
		return k.observeEnding(ctx, inst, now)
	}
	if o, damaged, err := k.observeDamage(ctx, inst, now); damaged || err != nil {
		return o, err
	}
	if installation.FlowOf(inst) == lsv1alpha1.FlowContinuous {
		return k.observeContinuously(ctx, inst, now)
	}
	return k.observeJob(ctx, inst, now)
}

// observeDamage looks for objects and metadata that another client has removed. They are restored before anything else is observed.
func (k *kind) observeDamage(
	ctx context.Context,
	inst *lsv1alpha1.Installation,
	now time.Time,
) (o installation.Observed, damaged bool, err error) {
	s := installation.Snapshot{Installation: inst, Now: now}
	if s.RecordedBy, err = recordedParent(ctx, k.cluster, inst); err == nil {
		s.Lost, err = k.confirmLost(ctx, inst)
	}
	if s.RecordedBy == "" && len(s.Lost) == 0 && err == nil {
		return o, false, nil
	}
	o = installation.NewObserved(s)
	return o, o.Damaged(), err
}

// observeEnding reads what is below an installation whose namespace is being deleted. If the cache shows nothing, it asks the API server.
func (k *kind) observeEnding(ctx context.Context, inst *lsv1alpha1.Installation, now time.Time) (installation.Observed, error) {
	s := installation.Snapshot{Installation: inst, Now: now, NamespaceEnds: true}
	var err error
	if s.Subinstallations, err = k.subinstallations(ctx, k.cluster, inst); err == nil {
		s.Execution, err = k.execution(ctx, k.cluster, inst)
	}
	if err == nil && len(s.Subinstallations) == 0 && s.Execution == nil {
		err = k.confirmNothingLeft(ctx, &s)
	}
	return installation.NewObserved(s), err
}

// observeJob reads everything that a decision of the job flow may depend on.
func (k *kind) observeJob(ctx context.Context, inst *lsv1alpha1.Installation, now time.Time) (installation.Observed, error) {
	s := installation.Snapshot{Installation: inst, Now: now, NewJobID: uuid.NewString()}
	o := installation.NewObserved(s)
	if !o.Job.Running() && installation.Decide(o).Wait && !o.MayGiveUp() {
		// Nothing starts, so no other facts are needed.
		return o, nil
	}
	if o.Root && beforePrepare(o.Phase) {
		var err error
		if s.Limits, _, err = k.quotas.limits(ctx, inst.Namespace); err != nil {
			return o, err
		}
	}
	if err := k.observeSiblings(ctx, &s); err != nil {
		return o, err
	}
	if err := k.observeChildren(ctx, &s); err != nil {
		return o, err
	}
	return installation.NewObserved(s), nil
}

// observeSiblings reads the siblings that the current phase may wait for.
func (k *kind) observeSiblings(ctx context.Context, s *installation.Snapshot) (err error) {
	inst := s.Installation
	phase, deleting := inst.Status.Phase, !inst.DeletionTimestamp.IsZero()
	hints := inst.Spec.Optimization
	if beforePrepare(phase) && !deleting && (hints == nil || !hints.HasNoSiblingImports) {
		if s.Predecessors, err = relatedBy(ctx, k.cluster, inst, exportsIndex, installation.ImportsOf(inst)); err != nil {
			return err
		}
		if s.DependencyError, err = k.dependencyError(ctx, inst, s.Predecessors); err != nil {
			return err
		}
	}
	if (deleting || installation.IsRoot(inst)) && (hints == nil || !hints.HasNoSiblingExports) {
		s.Successors, err = relatedBy(ctx, k.cluster, inst, importsIndex, installation.ExportsOf(inst))
	}
	return err
}

func beforePrepare(phase lsv1alpha1.Phase) bool {
	return phase == "" || phase == lsv1alpha1.PhaseInit || phase.IsFinal()
}

// relatedBy returns the siblings that import or export certain objects.
func relatedBy(
	ctx context.Context,
	reader client.Reader,
	inst *lsv1alpha1.Installation,
	index string,
	ids []dataflow.ObjectID,
) ([]*lsv1alpha1.Installation, error) {
	var related []*lsv1alpha1.Installation
	for _, id := range ids {
		var list lsv1alpha1.InstallationList
		err := reader.List(ctx, &list, client.InNamespace(inst.Namespace), client.MatchingFields{index: keyOf(id)}, client.UnsafeDisableDeepCopy)
		if err != nil {
			return nil, fmt.Errorf("find the siblings of installation %s: %w", inst.Name, err)
		}
		for i := range list.Items {
			sibling := &list.Items[i]
			same := func(other *lsv1alpha1.Installation) bool { return other.Name == sibling.Name }
			if sibling.Name != inst.Name && installation.ScopeOf(sibling).Parent == installation.ScopeOf(inst).Parent &&
				!slices.ContainsFunc(related, same) {
				related = append(related, sibling)
			}
		}
	}
	return related, nil
}

// dependencyError checks whether a root waits for itself, or exports what another root exports. Nested installations were checked when
// their parent created them.
func (k *kind) dependencyError(
	ctx context.Context,
	inst *lsv1alpha1.Installation,
	predecessors []*lsv1alpha1.Installation,
) (dependency, err error) {
	if !installation.IsRoot(inst) {
		return nil, nil
	}
	rivals, err := relatedBy(ctx, k.cluster, inst, exportsIndex, installation.ExportsOf(inst))
	if err != nil || len(rivals)+len(predecessors) == 0 {
		return nil, err
	}
	family := map[string]*lsv1alpha1.Installation{inst.Name: inst}
	for _, rival := range rivals {
		family[rival.Name] = rival
	}
	for queue := predecessors; len(queue) > 0; queue = queue[1:] {
		next := queue[0]
		if family[next.Name] != nil {
			continue
		}
		family[next.Name] = next
		before, err := relatedBy(ctx, k.cluster, next, exportsIndex, installation.ImportsOf(next))
		if err != nil {
			return nil, err
		}
		queue = append(queue, before...)
	}
	var siblings []dataflow.Sibling
	for name, member := range family {
		siblings = append(siblings, dataflow.Sibling{Name: name, Imports: member.Spec.Imports, Exports: member.Spec.Exports})
	}
	related, err := dataflow.NewSiblings(installation.ScopeOf(inst), siblings)
	if err != nil {
		return nil, err
	}
	return related.Check(inst.Name), nil
}

// observeChildren reads what is below an installation.
func (k *kind) observeChildren(ctx context.Context, s *installation.Snapshot) error {
	nothingLeft, err := k.readBelow(ctx, s)
	if err != nil || nothingLeft || beforePrepare(s.Installation.Status.Phase) {
		return err
	}
	return k.confirmMissing(ctx, s)
}

// readBelow reads from the cache what is below an installation. If it finds nothing and the installation is being deleted, it asks the API
// server, whose answer is final.
func (k *kind) readBelow(ctx context.Context, s *installation.Snapshot) (nothingLeft bool, err error) {
	if s.Subinstallations, err = k.subinstallations(ctx, k.cluster, s.Installation); err != nil {
		return false, err
	}
	if s.Execution, err = k.execution(ctx, k.cluster, s.Installation); err != nil {
		return false, err
	}
	if s.Installation.DeletionTimestamp.IsZero() || len(s.Subinstallations) > 0 || s.Execution != nil {
		return false, nil
	}
	return true, k.confirmNothingLeft(ctx, s)
}

func (k *kind) subinstallations(
	ctx context.Context,
	reader client.Reader,
	inst *lsv1alpha1.Installation,
) ([]*lsv1alpha1.Installation, error) {
	var list lsv1alpha1.InstallationList
	options := []client.ListOption{client.InNamespace(inst.Namespace)}
	if reader == k.live {
		options = append(options, client.MatchingLabels{lsv1alpha1.EncompassedByLabel: inst.Name})
	} else {
		options = append(options, client.MatchingFields{parentIndex: inst.Name}, client.UnsafeDisableDeepCopy)
	}
	if err := reader.List(ctx, &list, options...); err != nil {
		return nil, fmt.Errorf("list the nested installations: %w", err)
	}
	return k.withEstranged(ctx, reader, inst, pointers(list.Items))
}

// withEstranged adds the nested installations that the status records and that no longer name a parent. They are in the cache if they
// exist: it shows each of them before it shows the status that records it.
func (k *kind) withEstranged(
	ctx context.Context,
	reader client.Reader,
	inst *lsv1alpha1.Installation,
	subs []*lsv1alpha1.Installation,
) ([]*lsv1alpha1.Installation, error) {
	for _, name := range knownSubs(inst) {
		if isAmong(subs, name) {
			continue
		}
		sub, key := &lsv1alpha1.Installation{}, client.ObjectKey{Namespace: inst.Namespace, Name: name}
		err := k.cluster.Get(ctx, key, sub)
		if err == nil && installation.IsRoot(sub) && reader == k.live {
			err = k.live.Get(ctx, key, sub)
		}
		switch {
		case client.IgnoreNotFound(err) != nil:
			return nil, fmt.Errorf("read nested installation %s: %w", name, err)
		case err == nil && installation.IsRoot(sub):
			subs = append(subs, sub)
		}
	}
	return subs, nil
}

// execution returns the execution of an installation, nil if there is none.
func (k *kind) execution(ctx context.Context, reader client.Reader, inst *lsv1alpha1.Installation) (*lsv1alpha1.Execution, error) {
	var execution lsv1alpha1.Execution
	err := reader.Get(ctx, client.ObjectKeyFromObject(inst), &execution)
	if apierrors.IsNotFound(err) || err == nil && !belongsTo(&execution, inst) && !lost(&execution, inst) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the execution: %w", err)
	}
	return &execution, nil
}

// belongsTo reports whether an object was created by an installation, rather than by an earlier one of the same name, or by a user.
func belongsTo(object metav1.Object, inst *lsv1alpha1.Installation) bool {
	return slices.ContainsFunc(object.GetOwnerReferences(), func(owner metav1.OwnerReference) bool { return owner.UID == inst.UID })
}

// lost reports whether an execution is the one that an installation has recorded, and another client has removed its owner.
func lost(execution *lsv1alpha1.Execution, inst *lsv1alpha1.Installation) bool {
	owned := slices.ContainsFunc(execution.OwnerReferences, func(owner metav1.OwnerReference) bool { return owner.Kind == installationKind })
	return !owned && inst.Status.ExecutionReference != nil
}

//espalier:rights installations
//	get,list installations: before a finalizer is removed, to check live that nothing is left below
//	get executions: before a finalizer is removed, to check live that the execution is gone

// confirmNothingLeft asks the API server what is below an installation that is about to be released: the cache may not yet show objects
// that were created a moment ago.
func (k *kind) confirmNothingLeft(ctx context.Context, s *installation.Snapshot) (err error) {
	if s.Subinstallations, err = k.subinstallations(ctx, k.live, s.Installation); err != nil {
		return err
	}
	if s.Execution, err = k.execution(ctx, k.live, s.Installation); err != nil {
		return err
	}
	s.ExecutionGone = s.Execution == nil
	s.Gone = slices.DeleteFunc(knownSubs(s.Installation), func(name string) bool { return isAmong(s.Subinstallations, name) })
	return nil
}

// confirmMissing asks the API server for children that the cache does not show: they may have been created a moment ago, or be gone.
func (k *kind) confirmMissing(ctx context.Context, s *installation.Snapshot) error {
	for _, name := range knownSubs(s.Installation) {
		if isAmong(s.Subinstallations, name) {
			continue
		}
		var sub lsv1alpha1.Installation
		err := k.live.Get(ctx, client.ObjectKey{Namespace: s.Installation.Namespace, Name: name}, &sub)
		switch {
		case apierrors.IsNotFound(err) || err == nil && !installation.IsRoot(&sub) && installation.ParentOf(&sub) != s.Installation.Name:
			s.Gone = append(s.Gone, name)
		case err != nil:
			return fmt.Errorf("read nested installation %s: %w", name, err)
		default:
			s.Subinstallations = append(s.Subinstallations, &sub)
		}
	}
	if s.Execution != nil || s.Installation.Status.ExecutionReference == nil {
		return nil
	}
	var err error
	s.Execution, err = k.execution(ctx, k.live, s.Installation)
	s.ExecutionGone = err == nil && s.Execution == nil
	return err
}

func isAmong(subs []*lsv1alpha1.Installation, name string) bool {
	return slices.ContainsFunc(subs, func(sub *lsv1alpha1.Installation) bool { return sub.Name == name })
}

// knownSubs returns the names of the nested installations in the status.
func knownSubs(inst *lsv1alpha1.Installation) []string {
	cache := inst.Status.SubInstCache
	if cache == nil {
		return nil
	}
	var names []string
	for _, pair := range cache.ActiveSubs {
		names = append(names, pair.ObjectName)
	}
	return append(names, cache.OrphanedSubs...)
}
