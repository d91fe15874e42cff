// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package bench_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/oci"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/components"
	"espalier.dev/internal/testkit/registry"
)

const (
	componentName    = "example.com/shared"
	componentVersion = "1.0.0"
)

// BenchmarkComponent measures many roots whose blueprint is in one component of a registry: their requests to the registry, and their time
// divided by that of as many roots with the same blueprint inline.
func BenchmarkComponent(b *testing.B) {
	server := registry.Start(b, registry.Options{})
	blueprint := head + "- {name: before, type: data, schema: {type: string}}\n" + leaf{configMap: "{{ .imports.before }}"}.deployment("x")
	components.Component{
		Name: componentName, Version: componentVersion,
		Resources: []components.Resource{components.Blueprint(b, "blueprint", map[string]string{"blueprint.yaml": blueprint})},
	}.Push(b, components.Store(b, server, oci.Credential{}))

	s := newStand(b, lsv1alpha1.FlowJob, "--registry-cache-dir="+b.TempDir())
	shelf := testkit.Context(namespace, "shelf").Build()
	shelf.RepositoryContext = &lsv1alpha1.AnyJSON{Raw: fmt.Appendf(nil, `{"type":"OCIRegistry","baseUrl":%q}`, server.URL)}
	check(b, s.client.Create(b.Context(), shelf))
	create := func(prefix string, with func(*lsv1alpha1.Installation)) time.Duration {
		all := names(prefix, *sharedFlag)
		return s.await(b, all, s.finished(nil), func() {
			each(b, all, func(ctx context.Context, name string) error {
				inst := installation(s.flow, name, blueprint)
				inst.Spec.ImportDataMappings = map[string]lsv1alpha1.AnyJSON{"before": {Raw: fmt.Appendf(nil, "%q", name)}}
				with(inst)
				return s.client.Create(ctx, inst)
			})
		})
	}
	s.create(b, []string{"first"})
	for b.Loop() {
		apart := create("inline", func(*lsv1alpha1.Installation) {})
		s.settle(b)
		before, asked, sent := s.served(b), len(server.Requests()), server.Sent()
		shared := create("shared", func(inst *lsv1alpha1.Installation) {
			inst.Spec.Context = shelf.Name
			inst.Spec.Blueprint = lsv1alpha1.BlueprintDefinition{Reference: &lsv1alpha1.RemoteBlueprintReference{ResourceName: "blueprint"}}
			inst.Spec.ComponentDescriptor = &lsv1alpha1.ComponentDescriptorDefinition{Reference: &lsv1alpha1.ComponentDescriptorReference{
				ComponentName: componentName,
				Version:       componentVersion,
			}}
		})
		s.settle(b)
		cost := s.served(b).Minus(before)
		b.Logf("%d roots of one component:\n%s", *sharedFlag, cost)
		b.ReportMetric(shared.Seconds()/apart.Seconds(), "x-inline")
		b.ReportMetric(float64(cost.Total())/float64(*sharedFlag), "requests/created")
		b.ReportMetric(float64(len(server.Requests())-asked)/float64(*sharedFlag), "registry-requests/created")
		b.ReportMetric(float64(server.Sent()-sent)/float64(*sharedFlag), "registry-bytes/created")
		b.ReportMetric(float64(server.Count("GET /v2/component-descriptors/"+componentName+"/blobs/")), "blobs-fetched")
	}
}
