// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package pipelines

import (
	"testing"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/pipeline"
)

func TestPIP24_OneWriteHasVersionTriggerAndKey(t *testing.T) {
	for name, test := range map[string]struct {
		flow      lsv1alpha1.Flow
		runs      string
		triggered bool
	}{
		"another version":                        {runs: "1.0.0", triggered: true},
		"the same version":                       {runs: "1.1.0", triggered: true},
		"another version in the continuous flow": {flow: lsv1alpha1.FlowContinuous, runs: "1.0.0"},
		"the same in the continuous flow":        {flow: lsv1alpha1.FlowContinuous, runs: "1.1.0", triggered: true},
	} {
		t.Run(name, func(t *testing.T) {
			inst := &lsv1alpha1.Installation{}
			inst.Spec.Flow = test.flow
			inst.Spec.ComponentDescriptor = &lsv1alpha1.ComponentDescriptorDefinition{
				Reference: &lsv1alpha1.ComponentDescriptorReference{ComponentName: "example.com/app", Version: test.runs},
			}
			if err := promote(inst, pipeline.Promote{ID: attemptNumber(1), Revision: "1.1.0", Value: "1.1.0"}); err != nil {
				t.Fatal(err)
			}
			if got := inst.Spec.ComponentDescriptor.Reference.Version; got != "1.1.0" {
				t.Errorf("the version is %s", got)
			}
			if got := inst.Annotations[lsv1alpha1.OperationAnnotation]; (got == string(lsv1alpha1.OperationReconcile)) != test.triggered {
				t.Errorf("the operation is %q", got)
			}
			if got := inst.Annotations[PromotionKeyAnnotation]; got != "k" {
				t.Errorf("the key is %q", got)
			}
		})
	}
}
