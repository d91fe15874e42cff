// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package child_test

import (
	"strconv"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/controller/child"
)

// Objects that go away before a cache has shown them are never asked for again.
func TestNothingIsRememberedOfObjectsWithoutNumber(t *testing.T) {
	const limit, many = 1 << 15, 1<<15 + 1000
	var (
		handed  child.PropagatedJobs
		created child.Created
		newest  child.Newest
	)
	object := func(i int) *lsv1alpha1.Execution {
		return &lsv1alpha1.Execution{ObjectMeta: metav1.ObjectMeta{UID: types.UID(strconv.Itoa(i)), ResourceVersion: "2"}}
	}
	for i := range many {
		handed.Note(strconv.Itoa(i), "job")
		created.Note(object(i).UID, "item")
		newest.Note(object(i))
	}
	remembered := map[string]int{}
	for i := range many {
		if handed.Has(strconv.Itoa(i), "job", "") {
			remembered["handed"]++
		}
		if len(created.Forget(object(i).UID, func(string) bool { return false })) > 0 {
			remembered["created"]++
		}
		if !newest.Unknown(object(i)) {
			remembered["newest"]++
		}
	}
	for _, what := range []string{"handed", "created", "newest"} {
		if remembered[what] != limit {
			t.Errorf("%s: %d of %d objects are remembered, not %d", what, remembered[what], many, limit)
		}
	}
	if last := object(many - 1); newest.Unknown(last) || !handed.Has(string(last.UID), "job", "") {
		t.Error("what was noted last is forgotten")
	}
}
