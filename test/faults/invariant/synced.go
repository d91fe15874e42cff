// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package invariant

import (
	"k8s.io/apimachinery/pkg/types"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/targetsync"
	"espalier.dev/internal/testkit"
)

const kindTargetSync = "TargetSync"

// isSynced reports whether a TargetSync has created an object.
func isSynced(o *object) bool {
	return o.raw.GetLabels()[lsv1alpha1.TargetSyncLabel] == lsv1alpha1.TargetSyncOK
}

// syncedOnce holds for everything that a TargetSync creates: it has not created the same before. Workloads do not offer anything in a
// source again after its removal, and delete nothing that was created, so what appears a second time should not have been deleted.
func syncedOnce(history testkit.History) []Violation {
	type thing struct {
		id testkit.ObjectID
		by types.UID
	}
	f := &findings{rule: "I20"}
	made := map[thing]types.UID{}
	replayAll(history, func(s step) {
		if s.after == nil || !isSynced(s.after) {
			return
		}
		maker := s.world[testkit.ObjectID{
			Kind: kindTargetSync, Namespace: s.id.Namespace, Name: s.after.annotation(targetsync.ByAnnotation),
		}]
		if maker == nil {
			f.add(s, "it was made by a TargetSync that does not exist")
			return
		}
		this, uid := thing{s.id, maker.raw.GetUID()}, s.after.raw.GetUID()
		if before, known := made[this]; known && before != uid {
			f.add(s, "it was made again, so it should not have been deleted")
		}
		made[this] = uid
	})
	return f.found
}

// tokensAreReplacedOnRequest holds for every token in the Secret of a source: it is the first one, or follows a request that is younger
// than the previous token. Workloads are shorter than the validity of a token.
func tokensAreReplacedOnRequest(history testkit.History) []Violation {
	f := &findings{rule: "I21"}
	replayAll(history, func(s step) {
		if s.id.Kind != kindSecret || s.before == nil || s.after == nil {
			return
		}
		old, now := s.before.annotation(targetsync.RotatedAnnotation), s.after.annotation(targetsync.RotatedAnnotation)
		if old == "" || old == now {
			return
		}
		asked := s.world.where(func(o *object) bool {
			at := targetsync.TimeOf(o.annotation(targetsync.RotatingAnnotation))
			return o.id.Kind == kindTargetSync && at.After(targetsync.TimeOf(old)) && !at.After(targetsync.TimeOf(now))
		})
		if len(asked) == 0 {
			f.add(s, "its token was replaced at %s without a request since %s", now, old)
		}
	})
	return f.found
}
