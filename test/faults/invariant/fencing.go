// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package invariant

import (
	"reflect"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"espalier.dev/internal/testkit"
)

// outcome are the fields that only the deployer, a time limit or an interrupt may write, and only while a job runs.
var outcome = []string{
	"phase", "jobIDFinished", "lastError", "firstError", "lastErrors", "providerStatus", "exportRef", "deployer", "lastReconcileTime",
}

// finishedItemsRest holds for every write to a deploy item whose job was finished.
func finishedItemsRest(history testkit.History) []Violation {
	f := &findings{rule: "I6"}
	replay(history, func(s step) {
		if s.id.Kind != kindDeployItem || s.after == nil || s.before == nil || s.before.job == "" || !s.before.isFinished() {
			return
		}
		for _, field := range outcome {
			was, _, _ := unstructured.NestedFieldNoCopy(s.before.raw.Object, "status", field)
			is, _, _ := unstructured.NestedFieldNoCopy(s.after.raw.Object, "status", field)
			if !reflect.DeepEqual(was, is) {
				f.add(s, "job %s was finished in phase %s, and status.%s changes nevertheless", s.before.job, s.before.phase, field)
			}
		}
	})
	return f.found
}
