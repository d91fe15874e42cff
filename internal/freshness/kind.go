// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package freshness

import (
	"sync"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// maxKnown bounds what is remembered of a kind. It is reached only if a cache never shows what is written, because it does not contain
// the namespace, say.
const maxKnown = 1 << 14

// kind is what is remembered of the objects of a kind until the cache shows it.
type kind struct {
	gvk schema.GroupVersionKind
	// store tells how far the cache has come, nil if that is not known.
	store Store

	mu    sync.Mutex
	known map[client.ObjectKey]entry
	// swept is how many entries there were when those that the cache shows were last thrown away.
	swept int

	// takeover is held while the leader before is taken over from; taken is set afterwards.
	takeover sync.Mutex
	taken    atomic.Bool
}

// entry is an object in the newest version that is known.
type entry struct {
	uid     types.UID
	version string
	// gone says that the object does not exist any more, in whichever version the cache shows it.
	gone bool
	// content makes the object. It is nil if nothing but the version is known, and returns nil if it cannot.
	content func() client.Object
}

func (e entry) object() client.Object {
	if e.content == nil {
		return nil
	}
	return e.content()
}

// whole is the entry of an object that is known as a whole.
func whole(object client.Object) entry {
	if vanished(object) {
		return entry{uid: object.GetUID(), version: object.GetResourceVersion(), gone: true}
	}
	remembered := object.DeepCopyObject().(client.Object)
	remembered.SetManagedFields(nil) // nobody reads them
	return entry{
		uid: object.GetUID(), version: object.GetResourceVersion(),
		content: func() client.Object { return remembered },
	}
}

// vanished reports whether an object went with the write that this is the answer to, since its last finalizer did.
func vanished(object client.Object) bool {
	return !object.GetDeletionTimestamp().IsZero() && len(object.GetFinalizers()) == 0
}

// verdict is what counts: what the cache shows or what is remembered.
type verdict int

const (
	cacheIsNewer verdict = iota
	isGone
	isRemembered
	isUncertain
)

// against compares what is remembered with what the cache shows. The cache had not come as far as the entry a moment before, if it is
// known how far it comes.
func (e entry) against(shown client.Object, found, exact bool) verdict {
	switch {
	case e.gone && found && shown.GetUID() == e.uid:
		return isGone
	case e.gone:
		return cacheIsNewer
	case found && !older(shown.GetResourceVersion(), e.version):
		return cacheIsNewer
	case found || exact:
		return isRemembered
	default:
		return isUncertain // it was never there, or has come and gone
	}
}

// note remembers an object unless something newer is known.
func (k *kind) note(key client.ObjectKey, e entry) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if before, known := k.known[key]; known && older(e.version, before.version) && !(e.gone && e.uid == before.uid) {
		return
	}
	k.known[key] = e
	if len(k.known) > 2*k.swept+64 {
		k.sweep()
	}
}

// sweep throws away what the cache shows, and more if that is not enough.
func (k *kind) sweep() {
	for key, e := range k.known {
		if k.shown(e) || len(k.known) > maxKnown {
			delete(k.known, key)
		}
	}
	k.swept = len(k.known)
}

// shown reports whether the cache has come as far as an entry. One that is not filled yet has come nowhere.
func (k *kind) shown(e entry) bool {
	if k.store == nil || e.gone {
		return false
	}
	come := k.store.LastStoreSyncResourceVersion()
	return come != "" && !older(come, e.version)
}

// pending returns what is remembered of an object, unless the cache has come as far.
func (k *kind) pending(key client.ObjectKey) (entry, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	e, known := k.known[key]
	if known && k.shown(e) {
		delete(k.known, key)
		return e, false
	}
	return e, known
}

// allPending returns the objects of a namespace, or of all, of which something is remembered that the cache may not show.
func (k *kind) allPending(namespace string) []client.ObjectKey {
	k.mu.Lock()
	defer k.mu.Unlock()
	var keys []client.ObjectKey
	for key, e := range k.known {
		switch {
		case k.shown(e):
			delete(k.known, key)
		case namespace == "" || namespace == key.Namespace:
			keys = append(keys, key)
		}
	}
	return keys
}

// newest returns what is remembered of an object.
func (k *kind) newest(key client.ObjectKey) (entry, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	e, known := k.known[key]
	return e, known
}

// forget forgets an entry unless there is a newer one.
func (k *kind) forget(key client.ObjectKey, e entry) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if now, known := k.known[key]; known && now.version == e.version && now.uid == e.uid {
		delete(k.known, key)
	}
}

// OnAdd and its like implement toolscache.ResourceEventHandler: what the cache shows need not be remembered any more. Otherwise an object
// that nobody asks for would stay in memory, and might be taken for one that the cache does not show yet once it is deleted.
func (k *kind) OnAdd(object any, _ bool) { k.seen(object) }

// OnUpdate implements toolscache.ResourceEventHandler.
func (k *kind) OnUpdate(_, object any) { k.seen(object) }

// OnDelete implements toolscache.ResourceEventHandler.
func (k *kind) OnDelete(object any) {
	if unknown, ok := object.(toolscache.DeletedFinalStateUnknown); ok {
		object = unknown.Obj
	}
	if deleted, ok := object.(client.Object); ok {
		k.forgetIf(deleted, func(e entry) bool { return e.uid == deleted.GetUID() })
	}
}

func (k *kind) seen(object any) {
	if shown, ok := object.(client.Object); ok {
		k.forgetIf(shown, func(e entry) bool {
			return e.uid == shown.GetUID() && !e.gone && !older(shown.GetResourceVersion(), e.version)
		})
	}
}

// forgetIf forgets what is remembered of an object if that is needless.
func (k *kind) forgetIf(object client.Object, needless func(entry) bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	key := client.ObjectKeyFromObject(object)
	if e, known := k.known[key]; known && needless(e) {
		delete(k.known, key)
	}
}

// older reports whether a version is older than another one. Versions that cannot be compared are not.
func older(version, than string) bool {
	order, err := resourceversion.CompareResourceVersion(version, than)
	return err == nil && order < 0
}
