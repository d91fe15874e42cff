// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1_test

import (
	"encoding/json"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"

	"espalier.dev/api/landscaper/v1alpha1"
)

// An import of no targets is something else than no import of targets.
func TestEmptyTargetListIsNotAbsent(t *testing.T) {
	tests := map[string]struct {
		targets []string
		text    string
	}{
		"absent": {nil, `{"name":"clusters"}`},
		"empty":  {[]string{}, `{"name":"clusters","targets":[]}`},
		"filled": {[]string{"a"}, `{"name":"clusters","targets":["a"]}`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			original := &v1alpha1.TargetImport{Name: "clusters", Targets: test.targets}
			if got := text(t, original); got != test.text {
				t.Errorf("written as %s, want %s", got, test.text)
			}
			if got := original.DeepCopy(); (got.Targets == nil) != (test.targets == nil) {
				t.Errorf("copied to %#v", got.Targets)
			}
			var read v1alpha1.TargetImport
			if err := json.Unmarshal([]byte(test.text), &read); err != nil || (read.Targets == nil) != (test.targets == nil) {
				t.Errorf("read as %#v, %v", read.Targets, err)
			}
			checkUnstructuredTargets(t, original)
		})
	}
}

func checkUnstructuredTargets(t *testing.T, original *v1alpha1.TargetImport) {
	t.Helper()
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(original)
	if err != nil {
		t.Fatal(err)
	}
	if _, exists := content["targets"]; exists != (original.Targets != nil) {
		t.Errorf("unstructured content is %v", content)
	}
	var back v1alpha1.TargetImport
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(content, &back); err != nil {
		t.Fatal(err)
	}
	if (back.Targets == nil) != (original.Targets == nil) {
		t.Errorf("came back as %#v", back.Targets)
	}
}

// Other clients always write these two fields of a Context, empty or null.
func TestContextReadsEmptyFields(t *testing.T) {
	tests := map[string]struct {
		text      string
		ocmConfig *v1alpha1.LocalObjectReference
	}{
		"null":   {`{"ocmConfig":null,"componentVersionOverwrites":""}`, nil},
		"empty":  {`{"ocmConfig":{},"componentVersionOverwrites":""}`, &v1alpha1.LocalObjectReference{}},
		"named":  {`{"ocmConfig":{"name":"ocm"}}`, &v1alpha1.LocalObjectReference{Name: "ocm"}},
		"absent": {`{}`, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var got v1alpha1.Context
			if err := json.Unmarshal([]byte(test.text), &got); err != nil {
				t.Fatal(err)
			}
			if (got.OCMConfig == nil) != (test.ocmConfig == nil) || got.OCMConfig != nil && *got.OCMConfig != *test.ocmConfig {
				t.Errorf("got %+v", got.OCMConfig)
			}
		})
	}
}

// Controllers of other versions expect the field in every status that is written.
func TestStatusAlwaysNamesTheGeneration(t *testing.T) {
	for name, status := range map[string]any{
		"installation": v1alpha1.InstallationStatus{},
		"execution":    v1alpha1.ExecutionStatus{},
		"deploy item":  v1alpha1.DeployItemStatus{},
		"target sync":  v1alpha1.TargetSyncStatus{},
	} {
		if got := text(t, status); got != `{"observedGeneration":0}` {
			t.Errorf("%s: an empty status is written as %s", name, got)
		}
	}
}

func TestFinishedIsToldByTheJobIDsAlone(t *testing.T) {
	tests := map[string]struct {
		status v1alpha1.RunStatus
		want   bool
	}{
		"never started":   {v1alpha1.RunStatus{}, true},
		"triggered":       {v1alpha1.RunStatus{JobID: "1"}, false},
		"finished":        {v1alpha1.RunStatus{JobID: "1", JobIDFinished: "1"}, true},
		"triggered again": {v1alpha1.RunStatus{JobID: "2", JobIDFinished: "1", Phase: v1alpha1.PhaseSucceeded}, false},
	}
	for name, test := range tests {
		if got := test.status.IsFinished(); got != test.want {
			t.Errorf("%s: got %t", name, got)
		}
	}
}

func TestPhases(t *testing.T) {
	tests := map[v1alpha1.Phase]struct{ completed, final, deletion bool }{
		"":                                {},
		v1alpha1.PhaseInit:                {},
		v1alpha1.PhaseCleanupOrphaned:     {},
		v1alpha1.PhaseObjectsCreated:      {},
		v1alpha1.PhasePendingDependencies: {},
		v1alpha1.PhaseProgressing:         {},
		v1alpha1.PhaseCompleting:          {},
		v1alpha1.PhaseSucceeded:           {completed: true, final: true},
		v1alpha1.PhaseFailed:              {completed: true, final: true},
		v1alpha1.PhaseAborted:             {completed: true, final: true},
		v1alpha1.PhaseInitDelete:          {deletion: true},
		v1alpha1.PhaseTriggerDelete:       {deletion: true},
		v1alpha1.PhaseDeleting:            {deletion: true},
		v1alpha1.PhaseDeleteFailed:        {final: true, deletion: true},
	}
	for phase, want := range tests {
		if phase.IsCompleted() != want.completed || phase.IsFinal() != want.final || phase.IsDeletion() != want.deletion {
			t.Errorf("%q: completed %t, final %t, deletion %t; want %+v", phase, phase.IsCompleted(), phase.IsFinal(), phase.IsDeletion(), want)
		}
	}
}

func TestUnrecoverableErrorCodes(t *testing.T) {
	tests := map[v1alpha1.ErrorCode]bool{
		v1alpha1.ErrorUnauthorized:         true,
		v1alpha1.ErrorConfigurationProblem: true,
		v1alpha1.ErrorInternalProblem:      true,
		v1alpha1.ErrorTimeout:              true,
		v1alpha1.ErrorCyclicDependencies:   true,
		v1alpha1.ErrorWebhook:              false,
		v1alpha1.ErrorUnfinished:           false,
		v1alpha1.ErrorForInfoOnly:          false,
		v1alpha1.ErrorNoRetry:              false,
		v1alpha1.ErrorCleanup:              false,
		"ERR_OF_TOMORROW":                  false,
	}
	for code, want := range tests {
		if got := code.IsUnrecoverable(); got != want {
			t.Errorf("%s: got %t", code, got)
		}
	}
}

func TestFlowOrDefault(t *testing.T) {
	for flow, want := range map[v1alpha1.Flow]v1alpha1.Flow{
		"":                      v1alpha1.FlowJob,
		v1alpha1.FlowJob:        v1alpha1.FlowJob,
		v1alpha1.FlowContinuous: v1alpha1.FlowContinuous,
	} {
		if got := flow.OrDefault(); got != want {
			t.Errorf("%q: got %q", flow, got)
		}
	}
}

func TestBlueprintImportsAreRequiredUnlessTheySayOtherwise(t *testing.T) {
	var blueprint v1alpha1.Blueprint
	text := `{"imports":[{"name":"a"},{"name":"b","required":true},{"name":"c","required":false,"default":{"value":null}}]}`
	if err := json.Unmarshal([]byte(text), &blueprint); err != nil {
		t.Fatal(err)
	}
	for i, want := range []bool{true, true, false} {
		if got := blueprint.Imports[i].IsRequired(); got != want {
			t.Errorf("%s: got %t", blueprint.Imports[i].Name, got)
		}
	}
	if fallback := blueprint.Imports[2].Default; fallback == nil || !fallback.Value.IsNull() {
		t.Errorf("a default of null became %v", fallback)
	}
}

func TestSubinstallationIsAFileOrATemplate(t *testing.T) {
	var blueprint v1alpha1.Blueprint
	text := `{"subinstallations":[{"file":"/sub.yaml"},{"name":"db","blueprint":{"ref":"cd://resources/db"}}]}`
	if err := json.Unmarshal([]byte(text), &blueprint); err != nil {
		t.Fatal(err)
	}
	first, second := blueprint.Subinstallations[0], blueprint.Subinstallations[1]
	if first.File != "/sub.yaml" || first.InstallationTemplate != nil {
		t.Errorf("the file became %+v", first)
	}
	if second.File != "" {
		t.Errorf("the template became the file %s", second.File)
	}
	if second.InstallationTemplate == nil {
		t.Fatalf("the template became %+v", second)
	}
	if second.Name != "db" || second.Blueprint.Ref != "cd://resources/db" {
		t.Errorf("the template became %+v", second.InstallationTemplate)
	}
}
