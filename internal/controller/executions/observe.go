// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package executions

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/controller/child"
	"espalier.dev/internal/dataflow"
	"espalier.dev/internal/execution"
)

// Observe reads the deploy items of an execution, and whatever else the next decision needs. In the job flow, an execution without a job
// needs nothing.
func (k *kind) Observe(ctx context.Context, e *lsv1alpha1.Execution, now time.Time) (execution.Observed, error) {
	ends, err := k.namespaces.Ends(ctx, e.Namespace)
	s := execution.Snapshot{Execution: e, Now: now, NamespaceEnds: ends, Remembered: k.remembers}
	if ends && err == nil {
		err = k.readEnding(ctx, &s)
	}
	o := execution.NewObserved(s)
	if ends || err != nil || !o.Continuous && !o.Running() {
		return o, err
	}
	if err := k.readItems(ctx, &s); err != nil {
		return o, err
	}
	return k.readMore(ctx, s)
}

// readMore reads what the next decision needs in addition to the deploy items that the cache shows.
func (k *kind) readMore(ctx context.Context, s execution.Snapshot) (execution.Observed, error) {
	o := execution.NewObserved(s)
	if execution.NeedsComplete(o) {
		if err := k.readAllItems(ctx, &s); err != nil {
			return o, err
		}
		o = execution.NewObserved(s)
	}
	if o.Continuous {
		gone, err := k.exportGone(ctx, s.Execution)
		if s.ExportGone, o.ExportGone = gone, gone; err != nil {
			return o, err
		}
	}
	if execution.NeedsLastExport(o) {
		if err := k.readExports(ctx, &s, o); err != nil {
			return o, err
		}
		o = execution.NewObserved(s)
	}
	return o, nil
}

// readEnding reads the deploy items of an execution whose namespace is being deleted. If the cache shows none, it asks the API server.
func (k *kind) readEnding(ctx context.Context, s *execution.Snapshot) error {
	var err error
	if s.Items, err = k.seenItems(ctx, s.Execution); err != nil || len(s.Items) > 0 {
		return err
	}
	return k.readAllItems(ctx, s)
}

// seenItems returns the deploy items that the cache shows. They include those that the status records and that no longer name an
// execution, because another client has removed their label and their owner.
func (k *kind) seenItems(ctx context.Context, e *lsv1alpha1.Execution) ([]lsv1alpha1.DeployItem, error) {
	var list lsv1alpha1.DeployItemList
	err := k.cluster.List(
		ctx,
		&list,
		client.InNamespace(e.Namespace),
		client.MatchingFields{itemsOfExecution: e.Name},
		client.UnsafeDisableDeepCopy,
	)
	if err != nil {
		return nil, fmt.Errorf("list the deploy items: %w", err)
	}
	for _, name := range missing(execution.Recorded(e), list.Items) {
		var item lsv1alpha1.DeployItem
		err := k.cluster.Get(ctx, client.ObjectKey{Namespace: e.Namespace, Name: name}, &item)
		if client.IgnoreNotFound(err) != nil {
			return nil, fmt.Errorf("read deploy item %s: %w", name, err)
		}
		if err == nil && len(executionNames(&item)) == 0 {
			list.Items = append(list.Items, item)
		}
	}
	return list.Items, nil
}

// readItems reads the deploy items from the cache. It asks the API server for recorded ones that the cache does not show, except during a
// deletion, which needs certainty only at its end.
func (k *kind) readItems(ctx context.Context, s *execution.Snapshot) error {
	e := s.Execution
	var err error
	if s.Items, err = k.seenItems(ctx, e); err != nil {
		return err
	}
	if o := execution.NewObserved(*s); o.Removing() || o.Deleted && o.Continuous && k.remembers {
		return nil
	}
	found, gone, err := k.readNamed(ctx, e.Namespace, missing(execution.Recorded(e), s.Items))
	s.Items, s.Gone = append(slices.Clip(s.Items), found...), gone
	return err
}

//espalier:rights executions
//	get,list deployitems: before a deploy item counts as gone, to check live

// readAllItems asks the API server for all deploy items: those with the label of the execution, and those with known names, which may have
// lost the label.
func (k *kind) readAllItems(ctx context.Context, s *execution.Snapshot) error {
	e := s.Execution
	known, err := k.mayExist(ctx, e.Namespace, execution.Recorded(e))
	if err != nil {
		return err
	}
	for i := range s.Items {
		known = append(known, s.Items[i].Name)
	}
	var list lsv1alpha1.DeployItemList
	if len(validation.IsValidLabelValue(e.Name)) == 0 {
		err := k.live.List(ctx, &list, client.InNamespace(e.Namespace), client.MatchingLabels{lsv1alpha1.ExecutionManagedByLabel: e.Name})
		if err != nil {
			return fmt.Errorf("list the deploy items at the API server: %w", err)
		}
	}
	found, _, err := k.readNamed(ctx, e.Namespace, missing(known, list.Items))
	s.Items, s.Complete = append(list.Items, found...), err == nil
	return err
}

// mayExist returns the recorded names for which the API server must be asked. A cache that remembers shows each recorded item
// until it is gone.
func (k *kind) mayExist(ctx context.Context, namespace string, names []string) ([]string, error) {
	if !k.remembers {
		return names, nil
	}
	var shown []string
	for _, name := range names {
		err := k.cluster.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &lsv1alpha1.DeployItem{})
		if client.IgnoreNotFound(err) != nil {
			return nil, fmt.Errorf("read deploy item %s: %w", name, err)
		}
		if err == nil {
			shown = append(shown, name)
		}
	}
	return shown, nil
}

// missing returns the names without an item, each once.
func missing(names []string, items []lsv1alpha1.DeployItem) []string {
	seen := make(map[string]bool, len(items)+len(names))
	for i := range items {
		seen[items[i].Name] = true
	}
	var result []string
	for _, name := range names {
		if !seen[name] {
			seen[name] = true
			result = append(result, name)
		}
	}
	return result
}

// readNamed asks the API server for single deploy items.
func (k *kind) readNamed(ctx context.Context, namespace string, names []string) (found []lsv1alpha1.DeployItem, gone []string, err error) {
	var mutex sync.Mutex
	err = child.Each(ctx, names, func(ctx context.Context, name string) error {
		var item lsv1alpha1.DeployItem
		absent, err := child.Gone(ctx, k.live, client.ObjectKey{Namespace: namespace, Name: name}, &item)
		if err != nil {
			return fmt.Errorf("read deploy item %s at the API server: %w", name, err)
		}
		mutex.Lock()
		defer mutex.Unlock()
		if absent {
			gone = append(gone, name)
		} else {
			found = append(found, item)
		}
		return nil
	})
	return found, gone, err
}

//espalier:rights executions
//	get secrets: what deploy items export
//	get dataobjects: whether the exports that were written still exist

// readExports reads the object with the exports of the last job and, if needed, the Secrets with those of this one.
func (k *kind) readExports(ctx context.Context, s *execution.Snapshot, o execution.Observed) error {
	e := s.Execution
	var object lsv1alpha1.DataObject
	err := k.cluster.Get(ctx, client.ObjectKey{Namespace: e.Namespace, Name: dataflow.ExecutionExportName(e.Name)}, &object)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("read the DataObject with the exports: %w", err)
	}
	if err == nil {
		s.Export = &object
	}
	if !execution.NeedsExports(o) {
		return nil
	}
	s.Exports, err = k.readSecrets(ctx, e.Namespace, execution.ExportSecrets(*s))
	s.ExportsRead = err == nil
	return err
}

// readSecrets asks the API server for the contents of Secrets with exports. It does not read a Secret in another namespace.
func (k *kind) readSecrets(
	ctx context.Context,
	namespace string,
	references map[string]lsv1alpha1.ObjectReference,
) (map[string][]byte, error) {
	var items []string
	for item, reference := range references {
		if reference.Namespace == "" || reference.Namespace == namespace {
			items = append(items, item)
		}
	}
	var mutex sync.Mutex
	contents := make(map[string][]byte, len(items))
	err := child.Each(ctx, items, func(ctx context.Context, item string) error {
		var secret corev1.Secret
		err := k.live.Get(ctx, client.ObjectKey{Namespace: namespace, Name: references[item].Name}, &secret)
		if apierrors.IsNotFound(err) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read Secret %s with the exports of deploy item %s: %w", references[item].Name, item, err)
		}
		mutex.Lock()
		defer mutex.Unlock()
		if content, found := secret.Data[lsv1alpha1.ExportSecretKey]; found {
			contents[item] = content
		}
		return nil
	})
	return contents, err
}

// exportGone reports whether another client has deleted the object with the exports. If the cache does not show the object, exportGone
// reads it from the API server: it may have been written a moment ago.
func (k *kind) exportGone(ctx context.Context, e *lsv1alpha1.Execution) (bool, error) {
	reference := e.Status.ExportReference
	if reference == nil || e.Status.Phase != lsv1alpha1.PhaseSucceeded || !e.DeletionTimestamp.IsZero() {
		return false, nil
	}
	var object lsv1alpha1.DataObject
	key := client.ObjectKey{Namespace: e.Namespace, Name: reference.Name}
	err := k.cluster.Get(ctx, key, &object)
	if apierrors.IsNotFound(err) {
		err = k.live.Get(ctx, key, &object)
	}
	if client.IgnoreNotFound(err) != nil {
		return false, fmt.Errorf("read DataObject %s with the exports: %w", reference.Name, err)
	}
	return err != nil, nil
}
