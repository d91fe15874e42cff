// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package bench_test

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/testkit"
)

// writers is how many clients create, change and delete installations concurrently.
const writers = 16

func namespaceNamed(name string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

const head = `apiVersion: landscaper.gardener.cloud/v1alpha1
kind: Blueprint
imports:
- {name: cluster, type: target, targetType: landscaper.gardener.cloud/kubernetes-cluster}
`

// leaf deploys one config map. With an import, that is its value; with an export, it passes on the value with an added letter.
type leaf struct {
	configMap string
	value     string // x if it is empty
	imports   bool
	exports   bool
}

func (l leaf) blueprint() string {
	imports, value, exports, passOn := "", cmp.Or(l.value, "x"), "", ""
	if l.imports {
		imports, value = "- {name: before, type: data, schema: {type: string}}\n", "{{ .imports.before }}x"
	}
	if l.exports {
		exports = fmt.Sprintf(`        exports:
          exports:
          - {key: after, jsonPath: .data.value, fromResource: {apiVersion: v1, kind: ConfigMap, name: %s, namespace: %s}}
`, l.configMap, targetNamespace)
		passOn = `exports:
- {name: after, type: data, schema: {type: string}}
exportExecutions:
- name: default
  type: GoTemplate
  template: |
    exports: {after: '{{ index .values "deployitems" "item" "after" }}'}
`
	}
	return head + imports + l.deployment(value) + exports + passOn
}

// deployment returns a blueprint that deploys the config map.
func (l leaf) deployment(value string) string {
	return fmt.Sprintf(`deployExecutions:
- name: default
  type: GoTemplate
  template: |
    deployItems:
    - name: item
      type: landscaper.gardener.cloud/kubernetes-manifest
      target: {import: cluster}
      config:
        apiVersion: manifest.deployer.landscaper.gardener.cloud/v1alpha2
        kind: ProviderConfiguration
        updateStrategy: update
        manifests:
        - policy: manage
          manifest:
            apiVersion: v1
            kind: ConfigMap
            metadata: {name: %s, namespace: %s}
            data: {value: "%s"}
`, l.configMap, targetNamespace, value)
}

// nested returns an installation template; data lists its imports and exports of data, as further fields.
func nested(name, blueprint, data string) string {
	indented := "        " + strings.ReplaceAll(strings.TrimSpace(blueprint), "\n", "\n        ")
	return fmt.Sprintf(`- apiVersion: landscaper.gardener.cloud/v1alpha1
  kind: InstallationTemplate
  name: %s
  blueprint:
    filesystem:
      blueprint.yaml: |
%s
  imports:
    targets:
    - {name: cluster, target: cluster}
%s`, name, indented, data)
}

// treeBlueprint returns a blueprint with a fan-out on two levels; its leaves deploy.
func treeBlueprint(name string, fan int) string {
	var branches strings.Builder
	for i := range fan {
		var leaves strings.Builder
		for j := range fan {
			leaves.WriteString(nested(fmt.Sprintf("leaf-%d", j), leaf{configMap: fmt.Sprintf("%s-%d-%d", name, i, j)}.blueprint(), ""))
		}
		branches.WriteString(nested(fmt.Sprintf("branch-%d", i), head+"subinstallations:\n"+leaves.String(), ""))
	}
	return head + "subinstallations:\n" + branches.String()
}

// chainBlueprint returns a blueprint with siblings, each of which imports the export of the previous one.
func chainBlueprint(name string, length int) string {
	var links strings.Builder
	for i := range length {
		data := fmt.Sprintf("  exports:\n    data:\n    - {name: after, dataRef: link-%d}\n", i)
		if i > 0 {
			data = fmt.Sprintf("    data:\n    - {name: before, dataRef: link-%d}\n", i-1) + data
		}
		links.WriteString(nested(fmt.Sprintf("link-%d", i), leaf{
			configMap: fmt.Sprintf("%s-%d", name, i),
			imports:   i > 0,
			exports:   true,
		}.blueprint(), data))
	}
	return head + "subinstallations:\n" + links.String()
}

// installation returns a root whose job starts as soon as it is created.
func installation(flow lsv1alpha1.Flow, name, blueprint string) *lsv1alpha1.Installation {
	builder := testkit.Installation(namespace, name).Blueprint(blueprint).ImportTarget("cluster", targetName)
	if flow == lsv1alpha1.FlowContinuous {
		return builder.Continuous().Build()
	}
	return builder.Reconcile().Build()
}

func names(prefix string, count int) []string {
	var all []string
	for i := range count {
		all = append(all, fmt.Sprintf("%s-%04d", prefix, i))
	}
	return all
}

// each calls a function for all names, several concurrently.
func each(b testing.TB, all []string, do func(context.Context, string) error) {
	b.Helper()
	eachOf(b, writers, all, do)
}

// eachOf does so with the given number of workers.
func eachOf(b testing.TB, number int, all []string, do func(context.Context, string) error) {
	b.Helper()
	queue := make(chan string)
	var workers sync.WaitGroup
	for range number {
		workers.Go(func() {
			for name := range queue {
				if err := do(b.Context(), name); err != nil {
					b.Errorf("%s: %v", name, err)
				}
			}
		})
	}
	for _, name := range all {
		queue <- name
	}
	close(queue)
	workers.Wait()
	if b.Failed() {
		b.FailNow()
	}
}

// create creates roots that deploy one config map each, and waits until they have succeeded.
func (s *stand) create(b testing.TB, all []string) time.Duration {
	b.Helper()
	return s.await(b, all, s.finished(nil), func() {
		each(b, all, func(ctx context.Context, name string) error {
			return s.client.Create(ctx, installation(s.flow, name, leaf{configMap: s.deploys(name)}.blueprint()))
		})
	})
}

// update requests another job of each, or in the continuous flow makes each deploy another value.
func (s *stand) update(b testing.TB, all []string) time.Duration {
	b.Helper()
	var list lsv1alpha1.InstallationList
	check(b, s.client.List(b.Context(), &list, client.InNamespace(namespace)))
	before := map[string]lsv1alpha1.Installation{}
	for _, found := range list.Items {
		before[found.Name] = found
	}
	ask := client.RawPatch(
		types.MergePatchType,
		fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`, lsv1alpha1.OperationAnnotation, lsv1alpha1.OperationReconcile),
	)
	return s.await(b, all, s.finished(before), func() {
		each(b, all, func(ctx context.Context, name string) error {
			if s.flow == lsv1alpha1.FlowContinuous {
				changed := before[name]
				changed.Spec = installation(s.flow, name, leaf{configMap: s.deploys(name), value: "y"}.blueprint()).Spec
				return s.client.Update(ctx, &changed)
			}
			return s.client.Patch(ctx, testkit.Installation(namespace, name).Build(), ask)
		})
	})
}

func (s *stand) remove(b testing.TB, all []string) time.Duration {
	b.Helper()
	gone := func(event watch.Event, _ *lsv1alpha1.Installation) (bool, error) {
		return event.Type == watch.Deleted, nil
	}
	return s.await(b, all, gone, func() {
		each(b, all, func(ctx context.Context, name string) error {
			return s.client.Delete(ctx, testkit.Installation(namespace, name).Build())
		})
	})
}

// verdict reports whether an event is the awaited one, or an error if that will not come.
type verdict func(watch.Event, *lsv1alpha1.Installation) (bool, error)

// finished awaits the end of a job other than the previous one, or in the continuous flow of another generation.
func (s *stand) finished(before map[string]lsv1alpha1.Installation) verdict {
	return func(_ watch.Event, i *lsv1alpha1.Installation) (bool, error) {
		was := before[i.Name]
		job := i.Status.JobID != was.Status.JobID && i.Status.IsFinished()
		generation := i.Generation != was.Generation && i.Generation == i.Status.ObservedGeneration && i.Status.Phase.IsCompleted()
		if s.flow == lsv1alpha1.FlowContinuous && !generation || s.flow != lsv1alpha1.FlowContinuous && !job {
			return false, nil
		}
		if i.Status.Phase != lsv1alpha1.PhaseSucceeded {
			return false, fmt.Errorf("installation %s: %s: %+v", i.Name, i.Status.Phase, i.Status.LastError)
		}
		return true, nil
	}
}

// patience ends a run that hangs.
const patience = 10 * time.Minute

// await performs an action and measures the time until all the named installations have reached the expected state.
func (s *stand) await(b testing.TB, all []string, finished verdict, act func()) time.Duration {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.Context(), patience)
	defer cancel()
	var list lsv1alpha1.InstallationList
	check(b, s.client.List(ctx, &list, client.InNamespace(namespace), client.Limit(1)))
	// The API server ends a watch whose reader is slow, which is not a failure.
	events, err := watchtools.NewRetryWatcherWithContext(ctx, list.ResourceVersion, &cache.ListWatch{
		WatchFuncWithContext: func(ctx context.Context, raw metav1.ListOptions) (watch.Interface, error) {
			return s.client.Watch(ctx, &lsv1alpha1.InstallationList{}, &client.ListOptions{Namespace: namespace, Raw: &raw})
		},
	})
	check(b, err)
	defer events.Stop()
	missing := map[string]bool{}
	for _, name := range all {
		missing[name] = true
	}
	done := make(chan error, 1)
	go func() { done <- follow(ctx, events, missing, finished) }()
	began := time.Now()
	act()
	check(b, <-done)
	return time.Since(began)
}

func follow(ctx context.Context, events watch.Interface, missing map[string]bool, finished verdict) error {
	for len(missing) > 0 {
		select {
		case event, open := <-events.ResultChan():
			if !open {
				return fmt.Errorf("the watch ended with %d installations to go", len(missing))
			}
			found, ok := event.Object.(*lsv1alpha1.Installation)
			if !ok || !missing[found.Name] {
				continue
			}
			there, err := finished(event, found)
			if err != nil {
				return err
			}
			if there {
				delete(missing, found.Name)
			}
		case <-ctx.Done():
			return fmt.Errorf("%d installations do not come to an end", len(missing))
		}
	}
	return nil
}
