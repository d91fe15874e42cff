// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package installations

import (
	"slices"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"espalier.dev/internal/dataflow"
)

// A loss that is noted while the installation handles others is not forgotten with them.
func TestALossThatIsNotedMeanwhileStays(t *testing.T) {
	var l losses
	key := client.ObjectKey{Namespace: "n", Name: "root"}
	first := loss{ObjectID: dataflow.ObjectID{Kind: kindDataObject, Name: "word"}}
	second := loss{ObjectID: dataflow.ObjectID{Kind: kindTarget, Name: "place"}}
	l.forget(key, []dataflow.ObjectID{first.ObjectID})
	l.note(key, first)
	handled := l.get(key)
	l.note(key, second)
	l.forget(key, idsOf(handled))
	if left := l.get(key); !slices.Equal(left, []loss{second}) {
		t.Errorf("noted are %v", left)
	}
	l.forget(key, []dataflow.ObjectID{second.ObjectID})
	if len(l.of) > 0 {
		t.Errorf("left are %v", l.of)
	}
}
