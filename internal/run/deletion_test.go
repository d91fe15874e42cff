// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package run_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"espalier.dev/internal/run"
)

func TestJOB46_WhoKnowsOfADeletion(t *testing.T) {
	now := metav1.NewTime(time.Unix(1, 0))
	told := func(value string) map[string]string { return map[string]string{run.DeletionAnnotation: value} }
	for name, c := range map[string]struct {
		object metav1.ObjectMeta
		asked  bool
	}{
		"an object":                {metav1.ObjectMeta{UID: "a"}, false},
		"one that was deleted":     {metav1.ObjectMeta{UID: "a", DeletionTimestamp: &now}, true},
		"one that was told":        {metav1.ObjectMeta{UID: "a", Annotations: told("a")}, true},
		"a copy of such a one":     {metav1.ObjectMeta{UID: "b", Annotations: told("a")}, false},
		"one that has no UID":      {metav1.ObjectMeta{Annotations: told("")}, false},
		"one of somebody's making": {metav1.ObjectMeta{UID: "a", Annotations: told("true")}, false},
	} {
		if got := run.DeletionAsked(&c.object); got != c.asked {
			t.Errorf("%s: asked is %t", name, got)
		}
	}
}
