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

// grantPatience is how long the API server may take to say which grants a namespace has.
const grantPatience = 15 * time.Second

// grants knows which references into other namespaces are permitted. It watches ReferenceGrants in all namespaces, whatever namespaces the
// manager works in, and no other kind. What a pipeline may refer to is answered from memory; before something is changed in another
// namespace the API server itself is asked, so that what was taken back permits nothing however late the watch is.
type grants struct {
	live     client.Reader
	informer cache.SharedIndexInformer
	wake     func(types.NamespacedName)

	mutex sync.Mutex
	// askers are the pipelines that asked about a namespace.
	askers map[string]map[types.NamespacedName]bool
	// problem says why the grants cannot be known; empty if they can, or if nobody has tried yet.
	problem string
}

//espalier:rights pipelines
//	list,watch referencegrants: what other namespaces permit; asked again before something is changed there

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
			log.FromContext(ctx).V(1).Info("ReferenceGrants are not watched; trying again", "error", err.Error())
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

// Start watches until the context ends. Pipelines that asked before anything was known are woken when it is.
func (g *grants) Start(ctx context.Context) error {
	var group sync.WaitGroup
	group.Go(func() { g.informer.RunWithContext(ctx) })
	if cache.WaitForCacheSync(ctx.Done(), g.informer.HasSynced) {
		g.wakeAll()
	}
	group.Wait()
	return nil
}

// noted remembers whether grants can be listed and watched. A connection that fails for a while changes nothing: what is known stays
// good for reading, and writing asks again.
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

// ask notes which references a pipeline makes into other namespaces, so that it is woken when a grant there changes. It replaces what was
// noted before.
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

// refusal says why a reference does not hold; it is zero if it does. It must have been asked for before.
func (g *grants) refusal(r pipeline.Reference) pipeline.Problem {
	g.mutex.Lock()
	problem := g.problem
	g.mutex.Unlock()
	switch {
	case problem != "":
		return pipeline.Problem{
			Reason:  pipelines.ReasonTargetNotReadable,
			Message: fmt.Sprintf("whether it may be referred to is not known: %s", problem),
		}
	case !g.informer.HasSynced():
		return pipeline.Problem{
			Starting: true,
			Reason:   pipelines.ReasonTargetNotReadable,
			Message:  "whether it may be referred to is being found out",
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

// confirm asks the API server whether a reference holds now. An error says that it does not, or that this could not be found out.
func (g *grants) confirm(ctx context.Context, r pipeline.Reference) error {
	ctx, cancel := context.WithTimeout(ctx, grantPatience)
	defer cancel()
	var list espalier.ReferenceGrantList
	if err := g.live.List(ctx, &list, client.InNamespace(r.To.Namespace)); err != nil {
		return fmt.Errorf("ask whether %s may be referred to: %w", r.To, err)
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
