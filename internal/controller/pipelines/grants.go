// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package pipelines

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	espalier "espalier.dev/api/espalier/v1alpha1"
	pipelines "espalier.dev/api/pipelines/v1alpha1"
	"espalier.dev/internal/failure"
	"espalier.dev/internal/pipeline"
)

// grantPatience is how long the API server may take to return the grants of a namespace.
const grantPatience = 15 * time.Second

// grants determines which references into other namespaces are permitted. It watches ReferenceGrants in all namespaces, regardless of the
// namespaces that the manager works in, and no other kind. Reads are checked against the cache; before a write to another namespace, the
// grants are read from the API server, so that a revoked grant permits nothing, however late the watch is.
type grants struct {
	live     client.Reader
	informer cache.SharedIndexInformer
	wake     func(types.NamespacedName)

	mutex sync.Mutex
	// askers are the pipelines that asked about a namespace.
	askers map[string]map[types.NamespacedName]bool
	// problem is why the grants cannot be read; empty if they can, or before the first attempt.
	problem string
}

//espalier:rights pipelines
//	list,watch referencegrants: what other namespaces permit; checked again before a change there

func newGrants(watching client.WithWatch, live client.Reader, wake func(types.NamespacedName)) (*grants, error) {
	g := &grants{live: live, wake: wake, askers: map[string]map[types.NamespacedName]bool{}}
	g.informer = cache.NewSharedIndexInformer(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			list := &espalier.ReferenceGrantList{}
			err := watching.List(ctx, list, &client.ListOptions{Raw: &options})
			g.noted(err)
			return list, err
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			stream, err := watching.Watch(ctx, &espalier.ReferenceGrantList{}, &client.ListOptions{Raw: &options})
			g.noted(err)
			return stream, err
		},
	}, &espalier.ReferenceGrant{}, 0, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	changed := func(object any) {
		if gone, ok := object.(cache.DeletedFinalStateUnknown); ok {
			object = gone.Obj
		}
		if grant, ok := object.(*espalier.ReferenceGrant); ok {
			g.wakeAskers(grant.Namespace)
		}
	}
	_, err := g.informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: changed, DeleteFunc: changed, UpdateFunc: func(_, now any) { changed(now) },
	})
	if err == nil {
		err = g.informer.SetWatchErrorHandlerWithContext(func(ctx context.Context, _ *cache.Reflector, err error) {
			log.FromContext(ctx).V(1).Info("Cannot watch ReferenceGrants; retrying", "error", err.Error())
		})
	}
	if err == nil {
		err = g.informer.SetTransform(cache.TransformFunc(func(object any) (any, error) {
			if grant, ok := object.(*espalier.ReferenceGrant); ok {
				grant.ManagedFields, grant.Annotations = nil, nil
			}
			return object, nil
		}))
	}
	if err != nil {
		return nil, fmt.Errorf("watch ReferenceGrants: %w", err)
	}
	return g, nil
}

// Start watches until the context ends. Once the grants are known, it wakes the pipelines that asked before.
func (g *grants) Start(ctx context.Context) error {
	var group sync.WaitGroup
	group.Go(func() { g.informer.RunWithContext(ctx) })
	if cache.WaitForCacheSync(ctx.Done(), g.informer.HasSynced) {
		g.wakeAll()
	}
	group.Wait()
	return nil
}

// noted records whether grants can be listed and watched. A temporary connection failure changes nothing: what is known stays valid for
// reads, and writes ask again.
func (g *grants) noted(err error) {
	problem := ""
	switch {
	case err == nil:
	case meta.IsNoMatchError(err) || apierrors.IsNotFound(err):
		problem = fmt.Sprintf(
			"the management cluster does not serve ReferenceGrant of %s: install its custom resource definition",
			espalier.SchemeGroupVersion,
		)
	case apierrors.IsForbidden(err):
		problem = fmt.Sprintf("the controller may not list and watch referencegrants.%s: grant it both, in all namespaces", espalier.GroupName)
	default:
		return
	}
	g.mutex.Lock()
	news := problem != g.problem
	g.problem = problem
	g.mutex.Unlock()
	if news {
		g.wakeAll()
	}
}

// ask records which references a pipeline makes into other namespaces, so that a change of a grant there wakes it. It replaces what was
// recorded before.
func (g *grants) ask(owner types.NamespacedName, references []pipeline.Reference) {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	for namespace, askers := range g.askers {
		if delete(askers, owner); len(askers) == 0 {
			delete(g.askers, namespace)
		}
	}
	for _, reference := range references {
		if g.askers[reference.To.Namespace] == nil {
			g.askers[reference.To.Namespace] = map[types.NamespacedName]bool{}
		}
		g.askers[reference.To.Namespace][owner] = true
	}
}

// refusal returns why a reference is not permitted; the zero value if it is. The reference must have been passed to ask before.
func (g *grants) refusal(r pipeline.Reference) pipeline.Problem {
	g.mutex.Lock()
	problem := g.problem
	g.mutex.Unlock()
	switch {
	case problem != "":
		return pipeline.Problem{
			Reason:  pipelines.ReasonTargetNotReadable,
			Message: fmt.Sprintf("cannot check whether a ReferenceGrant permits the reference: %s", problem),
		}
	case !g.informer.HasSynced():
		return pipeline.Problem{
			Starting: true,
			Reason:   pipelines.ReasonTargetNotReadable,
			Message:  "checking whether a ReferenceGrant permits the reference",
		}
	}
	objects, err := g.informer.GetIndexer().ByIndex(cache.NamespaceIndex, r.To.Namespace)
	permitted := err == nil && slices.ContainsFunc(objects, func(object any) bool {
		grant, ok := object.(*espalier.ReferenceGrant)
		return ok && r.PermittedBy([]espalier.ReferenceGrant{*grant})
	})
	if permitted {
		return pipeline.Problem{}
	}
	return r.Refused()
}

// confirm checks at the API server whether a reference is permitted now. It returns an error if it is not, or if the check failed.
func (g *grants) confirm(ctx context.Context, r pipeline.Reference) error {
	ctx, cancel := context.WithTimeout(ctx, grantPatience)
	defer cancel()
	var list espalier.ReferenceGrantList
	if err := g.live.List(ctx, &list, client.InNamespace(r.To.Namespace)); err != nil {
		return fmt.Errorf("check whether %s may be referred to: %w", r.To, err)
	}
	if r.PermittedBy(list.Items) {
		return nil
	}
	refused := r.Refused()
	return failure.NewRetryable(failure.Details{Reason: refused.Reason}, fmt.Errorf("%s", refused.Message))
}

func (g *grants) wakeAskers(namespace string) {
	g.mutex.Lock()
	var woken []types.NamespacedName
	for owner := range g.askers[namespace] {
		woken = append(woken, owner)
	}
	g.mutex.Unlock()
	for _, owner := range woken {
		g.wake(owner)
	}
}

func (g *grants) wakeAll() {
	g.mutex.Lock()
	var namespaces []string
	for namespace := range g.askers {
		namespaces = append(namespaces, namespace)
	}
	g.mutex.Unlock()
	for _, namespace := range namespaces {
		g.wakeAskers(namespace)
	}
}
