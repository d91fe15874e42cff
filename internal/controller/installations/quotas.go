// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package installations

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/installation"
	"espalier.dev/internal/lru"
)

// Limits are the quotas of a namespace.
type Limits = installation.Limits

// quotas reads the quotas of namespaces, and ensures that concurrent passes do not exceed them together. The objects themselves show what
// exists and which jobs have started; quotas records what passes of this process are about to write, from the moment it was found to be
// within the quota until it is visible. It is safe for concurrent use. A namespace without a quota has no book.
type quotas struct {
	cluster client.Reader
	// defaults are the quotas of namespaces that set none.
	defaults Limits
	// sizes are the sizes of measured specs.
	sizes *lru.Cache[installation.Piece]
	// freed signals that a namespace must be checked: a job does not use the place that it was about to take.
	freed chan event.GenericEvent

	mu    sync.Mutex
	books map[string]*book
	// idle are the namespaces that freed signals.
	idle map[string]bool
}

// book records the pending jobs and objects of a namespace.
type book struct {
	mu sync.Mutex
	// jobs are those about to start, objects those about to be written, both by the name of their installation.
	jobs    map[string]string
	objects map[string][]installation.Piece
}

// maxSizes limits how many sizes are cached. An evicted one is measured again.
const maxSizes = 20_000

func newQuotas(cluster client.Reader, defaults Limits) *quotas {
	return &quotas{
		cluster: cluster, defaults: defaults, sizes: lru.NewCacheOf[installation.Piece](maxSizes),
		freed: make(chan event.GenericEvent, 1), books: map[string]*book{}, idle: map[string]bool{},
	}
}

// bookOf returns the book of a namespace, and opens it if necessary.
func (q *quotas) bookOf(namespace string) *book {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.books[namespace] == nil {
		q.books[namespace] = &book{jobs: map[string]string{}, objects: map[string][]installation.Piece{}}
	}
	return q.books[namespace]
}

// opened returns the book of a namespace, or nil if there is none.
func (q *quotas) opened(namespace string) *book {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.books[namespace]
}

// limits returns the quotas of a namespace, and problems with its annotations. Namespaces are cached anyway.
func (q *quotas) limits(ctx context.Context, name string) (Limits, []string, error) {
	namespace := &metav1.PartialObjectMetadata{}
	namespace.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	if err := q.cluster.Get(ctx, client.ObjectKey{Name: name}, namespace); client.IgnoreNotFound(err) != nil {
		return Limits{}, nil, fmt.Errorf("read the quotas of namespace %s: %w", name, err)
	}
	limits, problems := q.defaults.Overridden(name, namespace.Annotations)
	return limits, problems, nil
}

// take checks whether the job of an installation may start. If so, it reserves the place.
func (q *quotas) take(ctx context.Context, inst *lsv1alpha1.Installation, limit int64) (*installation.Turn, error) {
	job, running := installation.RootJobOf(inst)
	if !running {
		return &installation.Turn{Namespace: inst.Namespace, Limit: limit}, nil
	}
	b := q.bookOf(inst.Namespace)
	b.mu.Lock()
	defer b.mu.Unlock()
	jobs, err := q.jobs(ctx, inst.Namespace, b)
	if err != nil {
		return nil, err
	}
	turn := installation.TurnOf(inst.Namespace, limit, job, jobs)
	if turn.Open() {
		b.jobs[inst.Name] = job.ID
	}
	return &turn, nil
}

// jobs returns all unfinished jobs of a namespace. The caller holds the lock of its book. Jobs that are about to start count as started.
func (q *quotas) jobs(ctx context.Context, namespace string, b *book) ([]installation.RootJob, error) {
	var list lsv1alpha1.InstallationList
	options := []client.ListOption{client.InNamespace(namespace), client.MatchingFields{jobIndex: jobUnderWay}, client.UnsafeDisableDeepCopy}
	err := q.cluster.List(ctx, &list, options...)
	if err != nil {
		return nil, fmt.Errorf("list the jobs of namespace %s: %w", namespace, err)
	}
	jobs := map[string]installation.RootJob{}
	for i := range list.Items {
		if job, running := installation.RootJobOf(&list.Items[i]); running {
			jobs[job.Name] = job
		}
	}
	for name, id := range b.jobs {
		taken, err := q.stillTaken(ctx, client.ObjectKey{Namespace: namespace, Name: name}, id)
		if err != nil {
			return nil, err
		}
		if !taken {
			delete(b.jobs, name)
			continue
		}
		jobs[name] = installation.RootJob{Name: name, ID: id, Stage: installation.JobBegun}
	}
	return slices.Collect(maps.Values(jobs)), nil
}

// stillTaken reports whether a place is taken by a job whose status does not yet show that it has started.
func (q *quotas) stillTaken(ctx context.Context, key client.ObjectKey, id string) (bool, error) {
	var inst lsv1alpha1.Installation
	err := q.cluster.Get(ctx, key, &inst)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read installation %s: %w", key.Name, err)
	}
	return !shows(&inst, id), nil
}

// shows reports whether the status of an installation shows that a job has started or finished.
func shows(inst *lsv1alpha1.Installation, id string) bool {
	job, running := installation.RootJobOf(inst)
	return inst.Status.JobID == id && (!running || job.Stage == installation.JobBegun)
}

// observed removes from the book what is visible now: it runs when an installation is reconciled again, by one pass at a time.
func (q *quotas) observed(inst *lsv1alpha1.Installation) {
	b := q.opened(inst.Namespace)
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.objects, inst.Name)
	if id, taken := b.jobs[inst.Name]; taken && shows(inst, id) {
		delete(b.jobs, inst.Name)
	}
}

// settled removes from the book what did not happen: the pass waits, or has failed before the job has started.
func (q *quotas) settled(inst *lsv1alpha1.Installation) {
	b := q.opened(inst.Namespace)
	if b == nil {
		return
	}
	if job, running := installation.RootJobOf(inst); running && job.Stage == installation.JobBegun {
		return
	}
	q.forget(client.ObjectKeyFromObject(inst))
}

// forget removes from the book everything that an installation was about to do.
func (q *quotas) forget(key client.ObjectKey) {
	b := q.opened(key.Namespace)
	if b == nil {
		return
	}
	b.mu.Lock()
	_, taken := b.jobs[key.Name]
	delete(b.jobs, key.Name)
	delete(b.objects, key.Name)
	b.mu.Unlock()
	if taken {
		q.free(key.Namespace)
	}
}

// free requests a check of a namespace.
func (q *quotas) free(namespace string) {
	q.mu.Lock()
	q.idle[namespace] = true
	q.mu.Unlock()
	select {
	case q.freed <- event.GenericEvent{Object: &lsv1alpha1.Installation{}}:
	default: // A check is already pending.
	}
}

// toLookAt returns the namespaces that freed signals, each once, and clears them.
func (q *quotas) toLookAt() []string {
	q.mu.Lock()
	defer q.mu.Unlock()
	namespaces := slices.Sorted(maps.Keys(q.idle))
	clear(q.idle)
	return namespaces
}

// within rejects a plan that the namespace has no room for; otherwise, it reserves the room. It adds problems with the quotas to the plan.
func (q *quotas) within(ctx context.Context, inst *lsv1alpha1.Installation, plan *installation.Plan) *installation.Plan {
	if plan.Err != nil {
		return plan
	}
	limits, problems, err := q.limits(ctx, inst.Namespace)
	if err == nil {
		plan.Prepared.Warnings = append(plan.Prepared.Warnings, problems...)
		err = q.reserve(ctx, inst, limits, plan)
	}
	if err != nil && len(problems) > 0 {
		err = fmt.Errorf("%w (%s)", err, strings.Join(problems, "; "))
	}
	plan.Err = err
	return plan
}

func (q *quotas) reserve(ctx context.Context, inst *lsv1alpha1.Installation, limits Limits, plan *installation.Plan) error {
	if !limits.Counts() {
		return nil
	}
	b := q.bookOf(inst.Namespace)
	b.mu.Lock()
	defer b.mu.Unlock()
	stock := installation.Stock{Namespace: inst.Namespace, Limits: limits}
	if err := q.count(ctx, inst, &stock); err != nil {
		return err
	}
	delete(b.objects, inst.Name)
	for _, coming := range b.objects {
		stock.Coming = append(stock.Coming, coming...)
	}
	if err := stock.Refuse(plan); err != nil {
		return err
	}
	b.objects[inst.Name] = plan.Pieces()
	return nil
}

// count counts what a namespace contains.
func (q *quotas) count(ctx context.Context, inst *lsv1alpha1.Installation, stock *installation.Stock) error {
	var all lsv1alpha1.InstallationList
	if err := q.cluster.List(ctx, &all, client.InNamespace(inst.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("count the installations of namespace %s: %w", inst.Namespace, err)
	}
	stock.Place = installation.PlaceOf(inst, pointers(all.Items))
	for i := range all.Items {
		piece := installation.Piece{Kind: installation.ChildInstallation, Name: all.Items[i].Name}
		if stock.Limits.RenderedBytes > 0 {
			piece = q.measured(&all.Items[i], func() installation.Piece { return installation.PieceOfInstallation(&all.Items[i]) })
		}
		stock.There = append(stock.There, piece)
	}
	if !stock.Limits.Measures() {
		return nil
	}
	var executions lsv1alpha1.ExecutionList
	if err := q.cluster.List(ctx, &executions, client.InNamespace(inst.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("count the deploy items of namespace %s: %w", inst.Namespace, err)
	}
	for i := range executions.Items {
		e := &executions.Items[i]
		stock.There = append(stock.There, q.measured(e, func() installation.Piece { return installation.PieceOfExecution(e) }))
	}
	return nil
}

// measured measures an object once per generation of its spec. Removing the label that makes an installation nested changes no generation,
// and is repaired at once.
func (q *quotas) measured(object client.Object, measure func() installation.Piece) installation.Piece {
	key := lru.KeyOf([]byte(object.GetUID()), []byte(strconv.FormatInt(object.GetGeneration(), 10)))
	piece, err := q.sizes.Get(key, func() (installation.Piece, int, error) { return measure(), 0, nil })
	if err != nil {
		return measure()
	}
	return piece
}
