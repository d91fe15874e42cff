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

// maxKnown limits the records of a kind. It is reached only if a cache never shows what is written, for example because it does not
// contain the namespace.
const maxKnown = 1 << 14

// kind contains the records of the objects of a kind until the cache shows them.
type kind struct {
	gvk schema.GroupVersionKind
	// store reports the progress of the cache, nil if that is unknown.
	store Store

	mu    sync.Mutex
	known map[client.ObjectKey]entry
	// swept is how many entries remained after the last sweep.
	swept int

	// takeover is held during the takeover from the previous leader; taken is set afterwards.
	takeover sync.Mutex
	taken    atomic.Bool
}

// entry is an object in the newest known version.
type entry struct {
	uid     types.UID
	version string
	// gone means that the object no longer exists, in any version.
	gone bool
	// content creates the object. It is nil if only the version is known, and returns nil if it fails.
	content func() client.Object
}

func (e entry) object() client.Object {
	if e.content == nil {
		return nil
	}
	return e.content()
}

// whole returns the entry of a completely known object.
func whole(object client.Object) entry {
	if vanished(object) {
		return entry{uid: object.GetUID(), version: object.GetResourceVersion(), gone: true}
	}
	remembered := object.DeepCopyObject().(client.Object)
	remembered.SetManagedFields(nil) // nothing reads them
	return entry{
		uid: object.GetUID(), version: object.GetResourceVersion(),
		content: func() client.Object { return remembered },
	}
}

// vanished reports whether the write with this response deleted the object, because it removed the last finalizer.
func vanished(object client.Object) bool {
	return !object.GetDeletionTimestamp().IsZero() && len(object.GetFinalizers()) == 0
}

// verdict is the version that counts: that of the cache or the recorded one.
type verdict int

const (
	cacheIsNewer verdict = iota
	isGone
	isRemembered
	isUncertain
)

// against compares the entry with what the cache shows. exact means that the progress of the cache is known; a moment before, it had not
// reached the entry.
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
		return isUncertain // it never existed, or was created and deleted
	}
}

// note records an object unless something newer is known.
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

// sweep drops the records that the cache shows, and more if that is not enough.
func (k *kind) sweep() {
	for key, e := range k.known {
		if k.shown(e) || len(k.known) > maxKnown {
			delete(k.known, key)
		}
	}
	k.swept = len(k.known)
}

// shown reports whether the cache has reached an entry. An unfilled cache has reached none.
func (k *kind) shown(e entry) bool {
	if k.store == nil || e.gone {
		return false
	}
	come := k.store.LastStoreSyncResourceVersion()
	return come != "" && !older(come, e.version)
}

// pending returns the record of an object, unless the cache has reached it.
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

// allPending returns the objects of a namespace, or of all, with records that the cache may not show.
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

// newest returns the record of an object.
func (k *kind) newest(key client.ObjectKey) (entry, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	e, known := k.known[key]
	return e, known
}

// forget drops an entry unless there is a newer one.
func (k *kind) forget(key client.ObjectKey, e entry) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if now, known := k.known[key]; known && now.version == e.version && now.uid == e.uid {
		delete(k.known, key)
	}
}

// OnAdd implements toolscache.ResourceEventHandler, like OnUpdate and OnDelete: a record that the cache shows is no longer needed.
// Otherwise, an object that is never read would stay in memory, and after its deletion might be mistaken for one that the cache does not
// show yet.
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

// forgetIf drops the record of an object if needless returns true.
func (k *kind) forgetIf(object client.Object, needless func(entry) bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	key := client.ObjectKeyFromObject(object)
	if e, known := k.known[key]; known && needless(e) {
		delete(k.known, key)
	}
}

// older reports whether a version is older than another one. It returns false for versions that cannot be compared.
func older(version, than string) bool {
	order, err := resourceversion.CompareResourceVersion(version, than)
	return err == nil && order < 0
}
