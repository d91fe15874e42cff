// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package pipelines

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	pipelines "espalier.dev/api/pipelines/v1alpha1"
)

var alertKind = schema.GroupVersionKind{Group: "notification.toolkit.fluxcd.io", Version: "v1beta3", Kind: "AlertList"}

const (
	// alertsFor is how long the finding that an Alert exists is valid, noAlertsFor how long the finding that there is none.
	alertsFor   = 30 * time.Second
	noAlertsFor = time.Second
)

// alerts determines which pipelines notification-controller listens to. All promotions share one list of the Alerts, because many of them
// often run at once.
type alerts struct {
	live client.Reader

	mu      sync.Mutex
	asked   time.Time
	known   bool // the list could be read
	sources []alertSource
}

// alertSource is a source of events in an Alert, of kind Pipeline.
type alertSource struct{ namespace, name string }

// passOn reports whether an Alert may pass on events of the pipeline, and whether that is known.
func (a *alerts) passOn(ctx context.Context, p *pipelines.Pipeline) (yes, known bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if age := time.Since(a.asked); age > alertsFor || age > noAlertsFor && !a.selected(p) {
		a.ask(ctx)
	}
	return a.selected(p), a.known
}

//espalier:rights pipelines
//	list alerts.notification.toolkit.fluxcd.io: whether an Alert forwards the events of promotions by notification

func (a *alerts) ask(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, notificationTimeout)
	defer cancel()
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(alertKind)
	a.asked = time.Now()
	a.known = a.live.List(ctx, list) == nil
	a.sources = nil
	for _, alert := range list.Items {
		sources, _, _ := unstructured.NestedSlice(alert.Object, "spec", "eventSources")
		for _, source := range sources {
			if fields, _ := source.(map[string]any); textOf(fields, "kind") == pipelineKind {
				a.sources = append(a.sources, alertSource{cmp.Or(textOf(fields, "namespace"), alert.GetNamespace()), textOf(fields, "name")})
			}
		}
	}
}

func textOf(fields map[string]any, key string) string {
	value, _ := fields[key].(string)
	return value
}

// selected reports whether a source may match the pipeline. It ignores labels, so they may still exclude it.
func (a *alerts) selected(p *pipelines.Pipeline) bool {
	return slices.ContainsFunc(
		a.sources,
		func(s alertSource) bool { return s.namespace == p.Namespace && (s.name == "*" || s.name == p.Name) },
	)
}
