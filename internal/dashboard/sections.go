// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package dashboard

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"
	"sigs.k8s.io/controller-runtime/pkg/client"

	landscaper "espalier.dev/api/landscaper/v1alpha1"
	pipelines "espalier.dev/api/pipelines/v1alpha1"
)

// section is one table of the start page.
type section struct {
	Title, StateTitle string
	Rows              []row
}

// row is one object. State is a word, never just a colour.
type row struct {
	Namespace, Name, State, Ready, Message string
	Age                                    string
	Created                                time.Time
}

func readSections(ctx context.Context, reader client.Reader, now time.Time) ([]section, error) {
	var installations landscaper.InstallationList
	if err := reader.List(ctx, &installations); err != nil {
		return nil, fmt.Errorf("list installations: %w", err)
	}
	var lines pipelines.PipelineList
	if err := reader.List(ctx, &lines); err != nil {
		return nil, fmt.Errorf("list pipelines: %w", err)
	}
	return []section{
		{Title: "Installations", StateTitle: "Phase", Rows: rowsOf(installations.Items, now, installationRow)},
		{Title: "Pipelines", StateTitle: "Revision", Rows: rowsOf(lines.Items, now, pipelineRow)},
	}, nil
}

func rowsOf[T any](items []T, now time.Time, toRow func(*T, time.Time) row) []row {
	var rows []row
	for i := range items {
		rows = append(rows, toRow(&items[i], now))
	}
	slices.SortFunc(rows, byName)
	return rows
}

func byName(a, b row) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}

func newRow(object client.Object, now time.Time) row {
	created := object.GetCreationTimestamp().Time
	return row{
		Namespace: object.GetNamespace(),
		Name:      object.GetName(),
		State:     "not started",
		Ready:     string(metav1.ConditionUnknown),
		Age:       duration.HumanDuration(now.Sub(created)),
		Created:   created.UTC(),
	}
}

func installationRow(installation *landscaper.Installation, now time.Time) row {
	r := newRow(installation, now)
	if phase := installation.Status.Phase; phase != "" {
		r.State = string(phase)
	}
	for _, condition := range installation.Status.Conditions {
		if condition.Type == landscaper.ConditionReady {
			r.Ready, r.Message = string(condition.Status), condition.Message
		}
	}
	if lastError := installation.Status.LastError; lastError != nil && r.Message == "" {
		r.Message = lastError.Message
	}
	return r
}

// pipelineRow shows what holds a pipeline up before anything else.
func pipelineRow(pipeline *pipelines.Pipeline, now time.Time) row {
	r := newRow(pipeline, now)
	if revision := pipeline.Status.LatestRevision; revision != "" {
		r.State = revision
	}
	if ready := meta.FindStatusCondition(pipeline.Status.Conditions, string(landscaper.ConditionReady)); ready != nil {
		r.Ready, r.Message = string(ready.Status), ready.Message
	}
	if holds := pipeline.Status.Holds; len(holds) > 0 {
		r.Message = string(holds[0].Reason) + ": " + holds[0].Message
	}
	return r
}
