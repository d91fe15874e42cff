// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package child_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/controller/child"
)

func TestWhatWasSeenBeforeIsNotTakenForNews(t *testing.T) {
	in := func(uid, version string) *lsv1alpha1.Execution {
		return &lsv1alpha1.Execution{ObjectMeta: metav1.ObjectMeta{UID: types.UID(uid), ResourceVersion: version}}
	}
	var n child.Newest
	if !n.Unknown(in("a", "9")) || n.Behind(in("a", "9")) {
		t.Error("something is known before anything was noted")
	}
	n.Note(in("a", "10"))
	n.Note(in("a", "9"))
	if n.Unknown(in("a", "9")) || !n.Unknown(in("b", "9")) {
		t.Error("noted was a, and nothing else")
	}
	for version, behind := range map[string]bool{"9": true, "10": false, "11": false, "100": false} {
		if n.Behind(in("a", version)) != behind {
			t.Errorf("version %s is behind 10: %t", version, !behind)
		}
	}
}
