// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package bench_test

import (
	"context"
	"testing"
	"time"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/testkit/kubelet"
)

// BenchmarkContainers measures many roots with one deploy item of the container deployer each, whose image does nothing: run, run again,
// deleted with a run of DELETE. This process plays the kubelet, and its requests are not counted, except for those of the sidecar in each
// pod.
func BenchmarkContainers(b *testing.B) {
	s := newStand(b, lsv1alpha1.FlowJob, "--container-image=registry.example.com/espalier-container:bench")
	ctx, stop := context.WithCancel(b.Context())
	served := make(chan error, 1)
	pods := kubelet.Kubelet{Client: s.client, Config: s.server.Config(), TempDir: b.TempDir}
	go func() { served <- pods.Serve(ctx, namespace, kubelet.Nothing) }()
	defer func() {
		stop()
		check(b, <-served)
	}()
	all, count := names("container", *containersFlag), float64(*containersFlag)
	s.deploy(b, []string{"first"}, containerBlueprint)
	for b.Loop() {
		measured := func(what string, act func() time.Duration) {
			before := s.served(b)
			took := act()
			s.settle(b)
			cost := s.served(b).Minus(before)
			b.Logf("%d containers, %s:\n%s", *containersFlag, what, cost)
			b.ReportMetric(float64(cost.Total())/count, "requests/"+what)
			b.ReportMetric(float64(cost.Writes())/count, "writes/"+what)
			b.ReportMetric(count/took.Seconds(), what+"/s")
		}
		measured("run", func() time.Duration { return s.deploy(b, all, containerBlueprint) })
		measured("again", func() time.Duration { return s.update(b, all) })
		b.ReportMetric(float64(s.idle(b).Writes()), "idle-writes")
		measured("deleted", func() time.Duration { return s.remove(b, all) })
	}
}

func containerBlueprint(string) string {
	return head + `deployExecutions:
- name: default
  type: GoTemplate
  template: |
    deployItems:
    - name: item
      type: landscaper.gardener.cloud/container
      target: {import: cluster}
      config:
        apiVersion: container.deployer.landscaper.gardener.cloud/v1alpha1
        kind: ProviderConfiguration
        image: registry.example.com/tool:1
        importValues: {size: 3}
`
}
