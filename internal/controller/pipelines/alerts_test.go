// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package pipelines

import (
	"context"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	pipelines "espalier.dev/api/pipelines/v1alpha1"
	"espalier.dev/internal/testkit"
)

// countingReader counts lists.
type countingReader struct {
	client.Reader
	lists int
}

func (r *countingReader) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	r.lists++
	return r.Reader.List(ctx, list, options...)
}

func TestManyPromotionsAskForAlertsOnce(t *testing.T) {
	server := testkit.Server(t)
	server.InstallCRD(t, testkit.FluxAlerts())
	here, there := server.Namespace(t), server.Namespace(t)
	alert := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"eventSources": []any{
		map[string]any{"kind": "HelmRelease", "name": "other"},
		map[string]any{"kind": "Pipeline", "name": "named"},
		map[string]any{"kind": "Pipeline", "name": "*", "namespace": there},
	}}}}
	alert.SetAPIVersion(alertKind.GroupVersion().String())
	alert.SetKind("Alert")
	alert.SetNamespace(here)
	alert.SetName("promotions")
	testkit.Create(t, server, alert)
	reader := &countingReader{Reader: server.Client()}
	known := &alerts{live: reader}
	for range 10 {
		for _, p := range []*pipelines.Pipeline{testkit.Pipeline(here, "named").Build(), testkit.Pipeline(there, "any").Build()} {
			if yes, certain := known.passOn(t.Context(), p); !yes || !certain {
				t.Errorf("%s/%s: passed on %t, known %t", p.Namespace, p.Name, yes, certain)
			}
		}
	}
	if reader.lists != 1 {
		t.Errorf("asked %d times for the same Alerts", reader.lists)
	}
	known.asked = known.asked.Add(-2 * noAlertsFor)
	if yes, certain := known.passOn(t.Context(), testkit.Pipeline(here, "other").Build()); yes || !certain {
		t.Errorf("a pipeline that no Alert selects: passed on %t, known %t", yes, certain)
	}
	if reader.lists != 2 {
		t.Errorf("concluded that there is no Alert from a list that is old; asked %d times", reader.lists)
	}
}
