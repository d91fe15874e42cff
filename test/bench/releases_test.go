// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package bench_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/helmcharts"
	"espalier.dev/internal/testkit/relay"
	"espalier.dev/internal/testkit/traffic"
)

// BenchmarkReleases measures many roots with one Helm release each, of a chart with three objects: installed, given another job that
// changes nothing, upgraded, uninstalled. Bytes are those between the deployer and the target, in both directions.
func BenchmarkReleases(b *testing.B) {
	s := newServer(b, lsv1alpha1.FlowJob)
	scale := weigh(b, s)
	s.run(b, s.server.Kubeconfig())
	chart := releaseChart(b)
	all, count := names("release", *releasesFlag), float64(*releasesFlag)
	s.deploy(b, []string{"first"}, releaseBlueprint(chart, "old"))
	for b.Loop() {
		measured := func(what string, act func() time.Duration) {
			before, weight := s.served(b), scale.bytes.Load()
			took := act()
			s.settle(b)
			cost := s.served(b).Minus(before)
			b.Logf("%d releases, %s:\n%s", *releasesFlag, what, cost)
			b.ReportMetric(float64(cost.Total())/count, "requests/"+what)
			b.ReportMetric(float64(scale.bytes.Load()-weight)/count/1024, "KiB/"+what)
			b.ReportMetric(count/took.Seconds(), what+"/s")
		}
		empty := s.controllers.Memory(b)
		measured("installed", func() time.Duration { return s.deploy(b, all, releaseBlueprint(chart, "old")) })
		b.ReportMetric((s.controllers.Memory(b)-empty)*1000/count, "MiB/1000")
		measured("unchanged", func() time.Duration { return s.update(b, all) })
		measured("upgraded", func() time.Duration { return s.deploy(b, all, releaseBlueprint(chart, "new")) })
		b.ReportMetric(float64(s.idle(b).Writes()), "idle-writes")
		measured("uninstalled", func() time.Duration { return s.remove(b, all) })
	}
}

// deploy creates roots with a blueprint, or gives existing ones another blueprint, and waits until they have succeeded.
func (s *stand) deploy(b *testing.B, all []string, blueprint func(name string) string) time.Duration {
	b.Helper()
	var list lsv1alpha1.InstallationList
	check(b, s.client.List(b.Context(), &list, client.InNamespace(namespace)))
	before := map[string]lsv1alpha1.Installation{}
	for _, found := range list.Items {
		before[found.Name] = found
	}
	return s.await(b, all, s.finished(before), func() {
		each(b, all, func(ctx context.Context, name string) error {
			wanted := installation(s.flow, name, blueprint(name))
			existing, found := before[name]
			if !found {
				return s.client.Create(ctx, wanted)
			}
			existing.Spec, existing.Annotations = wanted.Spec, wanted.Annotations
			return s.client.Update(ctx, &existing)
		})
	})
}

func releaseChart(b *testing.B) string {
	b.Helper()
	return base64.StdEncoding.EncodeToString(helmcharts.Pack(b, map[string]string{
		"Chart.yaml":  "apiVersion: v2\nname: shop\nversion: 1.0.0\n",
		"values.yaml": "value: x\n",
		"templates/all.yaml": `{{- range list "one" "two" "three" }}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: "{{ $.Release.Name }}-{{ . }}"}
data: {value: "{{ $.Values.value }}"}
{{- end }}
`,
	}))
}

func releaseBlueprint(chart, value string) func(name string) string {
	return func(name string) string {
		return head + fmt.Sprintf(`deployExecutions:
- name: default
  type: GoTemplate
  template: |
    deployItems:
    - name: item
      type: landscaper.gardener.cloud/helm
      target: {import: cluster}
      config:
        apiVersion: helm.deployer.landscaper.gardener.cloud/v1alpha1
        kind: ProviderConfiguration
        name: %s
        namespace: %s
        chart: {archive: {raw: %s}}
        values: {value: %s}
`, name, targetNamespace, chart, value)
	}
}

// scale stands in front of the target and counts the bytes of bodies, in both directions.
type scale struct{ bytes atomic.Int64 }

// weigh routes the Target of a stand through a scale.
func weigh(b *testing.B, s *stand) *scale {
	b.Helper()
	config := s.server.Config()
	forward, err := rest.TransportFor(config)
	check(b, err)
	w := &scale{}
	front, err := relay.NewFront(config.Host, traffic.RoundTripper(func(request *http.Request) (*http.Response, error) {
		if request.Body != nil {
			request.Body = &weighed{ReadCloser: request.Body, on: w}
		}
		response, err := forward.RoundTrip(request)
		if err == nil {
			response.Body = &weighed{ReadCloser: response.Body, on: w}
		}
		return response, err
	}))
	check(b, err)
	b.Cleanup(front.Close)
	kubeconfig, err := front.Kubeconfig()
	check(b, err)
	over := testkit.Target(namespace, targetName).Kubeconfig(kubeconfig).Build()
	patch := fmt.Appendf(nil, `{"spec":{"config":%s}}`, over.Spec.Configuration.Raw)
	check(b, s.client.Patch(b.Context(), over, client.RawPatch(types.MergePatchType, patch)))
	return w
}

type weighed struct {
	io.ReadCloser
	on *scale
}

func (w *weighed) Read(into []byte) (int, error) {
	n, err := w.ReadCloser.Read(into)
	w.on.bytes.Add(int64(n))
	return n, err
}
