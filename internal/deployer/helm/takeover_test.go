// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package helm_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"log/slog"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v4/pkg/action"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/kube"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/rest"

	"espalier.dev/internal/failure"
	"espalier.dev/internal/testkit"
)

// byHelm installs or upgrades the world's chart with Helm's library alone, like an earlier controller or Helm's own command.
func (w *world) byHelm(values map[string]any) {
	w.t.Helper()
	getter := genericclioptions.NewConfigFlags(false)
	config := w.server.Config()
	getter.WrapConfigFn = func(*rest.Config) *rest.Config { return rest.CopyConfig(config) }
	host := config.Host
	getter.APIServer = &host
	getter.Namespace = &w.namespace
	actions := action.NewConfiguration(action.ConfigurationSetLogger(slog.DiscardHandler))
	if err := actions.Init(getter, w.namespace, "secret"); err != nil {
		w.t.Fatal(err)
	}
	raw, err := base64.StdEncoding.DecodeString(w.chart)
	if err != nil {
		w.t.Fatal(err)
	}
	loaded, err := loader.LoadArchive(bytes.NewReader(raw))
	if err != nil {
		w.t.Fatal(err)
	}
	if len(w.history("shop")) > 0 {
		run := action.NewUpgrade(actions)
		run.Namespace, run.WaitStrategy, run.ServerSideApply = w.namespace, kube.HookOnlyStrategy, "false"
		_, err = run.Run("shop", loaded, values)
	} else {
		run := action.NewInstall(actions)
		run.ReleaseName, run.Namespace, run.WaitStrategy, run.ServerSideApply = "shop", w.namespace, kube.HookOnlyStrategy, false
		_, err = run.Run(loaded, values)
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

// The status of an earlier controller: only the workloads, without policies.
const earlierStatus = "{apiVersion: helm.deployer.landscaper.gardener.cloud/v1alpha1, kind: ProviderStatus}"

const withSubchart = oneConfigMap + `
-- Chart.yaml --
apiVersion: v2
name: shop
version: 1.0.0
dependencies: [{name: inner, version: 0.1.0, alias: renamed, import-values: [{child: exported, parent: imported}]}]
-- charts/inner/Chart.yaml --
apiVersion: v2
name: inner
version: 0.1.0
-- charts/inner/values.yaml --
word: quiet
exported: {a: b}
-- charts/inner/templates/inner.yaml --
{apiVersion: v1, kind: ConfigMap, metadata: {name: inner}, data: {key: "{{ .Values.word }}"}}
`

func TestAReleaseOfAnEarlierControllerIsContinued(t *testing.T) {
	for name, chart := range map[string]string{"plain": twoConfigMaps, "with a subchart": withSubchart} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.use(chart)
			w.byHelm(map[string]any{"key": "first", "number": int64(3)})
			w.byHelm(map[string]any{"key": "second", "number": int64(3)})
			before := w.content()
			w.remember(earlierStatus)
			seen := 0
			w.writes(&seen)
			w.succeed("values: {key: second, number: 3}")
			if got := w.writes(&seen); len(got) > 0 {
				t.Errorf("nothing has changed, and there are writes: %v", got)
			}
			if diff := cmp.Diff([]string{"1=superseded", "2=deployed"}, w.history("shop")); diff != "" {
				t.Error(diff)
			}
			if got := w.status().Release; got == nil || got.Revision != 2 {
				t.Errorf("the status shows %+v", got)
			}
			w.succeed("values: {key: third, number: 3}")
			if diff := cmp.Diff([]string{"1=superseded", "2=superseded", "3=deployed"}, w.history("shop")); diff != "" {
				t.Error(diff)
			}
			if cmp.Equal(before, w.content()) {
				t.Error("the upgrade has changed nothing")
			}
			w.delete()
			if diff := cmp.Diff([]string{}, w.content()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Helm copies labels to the next revision. A revision created by somebody else is compared nevertheless.
func TestARevisionOfSomebodyElseIsNoticed(t *testing.T) {
	w := newWorld(t)
	w.use(oneConfigMap)
	w.succeed("values: {key: ours}")
	wanted := w.chart
	w.use(twoConfigMaps)
	w.byHelm(map[string]any{"key": "ours"})
	w.chart = wanted
	w.succeed("values: {key: ours}")
	if diff := cmp.Diff([]string{"one=ours"}, w.content()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"1=superseded", "2=superseded", "3=deployed"}, w.history("shop")); diff != "" {
		t.Error(diff)
	}
}

func TestDeletionOfWhatAnEarlierControllerDeployed(t *testing.T) {
	t.Run("as a release", func(t *testing.T) {
		w := newWorld(t)
		w.use(twoConfigMaps)
		w.byHelm(nil)
		w.configure("")
		w.remember(earlierStatus)
		w.delete()
		if diff := cmp.Diff([]string{}, w.content()); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff([]string{}, w.history("shop")); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("as a template", func(t *testing.T) {
		w := newWorld(t)
		w.use(twoConfigMaps)
		w.succeed("helmDeployment: false")
		one := w.configMap("one")
		one.Annotations = nil
		if err := w.server.Client().Update(t.Context(), one); err != nil {
			t.Fatal(err)
		}
		w.remember(`{apiVersion: helm.deployer.landscaper.gardener.cloud/v1alpha1, kind: ProviderStatus, managedResources: [
{policy: manage, resource: {apiVersion: v1, kind: ConfigMap, name: one, namespace: NAMESPACE, uid: ` + string(one.UID) + `}},
{policy: keep, resource: {apiVersion: v1, kind: Namespace, name: NAMESPACE}}]}`)
		w.delete()
		if diff := cmp.Diff([]string{"two=second"}, w.content()); diff != "" {
			t.Error(diff)
		}
		w.server.Namespace(t)
	})
}

// If the configuration changes from template to release, and the item is deleted before a job runs, nothing is uninstalled.
func TestDeletionFollowsTheStatusAndNotTheConfiguration(t *testing.T) {
	w := newWorld(t)
	w.use(oneConfigMap)
	w.byHelm(nil)
	w.use("\n-- templates/x.yaml --\n{apiVersion: v1, kind: ConfigMap, metadata: {name: ours}, data: {key: x}}\n")
	w.succeed("helmDeployment: false")
	w.configure("helmDeployment: true")
	w.delete()
	if diff := cmp.Diff([]string{"one=default"}, w.content()); diff != "" {
		t.Error(diff)
	}
}

// Groups are for templates. For a release, they must not touch objects of others, whoever installed the release.
func TestDeletionGroupsOfAReleaseHaveNoEffect(t *testing.T) {
	const everything = "{deletionGroups: [{customResourceGroup: {deleteAllResources: true, resources: [" +
		"{apiVersion: v1, kind: ConfigMap, namespaces: [NAMESPACE]}]}}]}"
	for name, install := range map[string]func(*world){
		"of this controller": func(w *world) { w.succeed(everything) },
		"of an earlier one": func(w *world) {
			w.byHelm(nil)
			w.configure(everything)
			w.remember(earlierStatus)
		},
		"of this controller, with a template in the configuration since": func(w *world) {
			w.succeed("")
			w.configure("{helmDeployment: false, " + everything[1:])
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.use(twoConfigMaps)
			install(w)
			foreign := &corev1.ConfigMap{Data: map[string]string{"key": "theirs"}}
			foreign.Namespace, foreign.Name = w.namespace, "foreign"
			if err := w.server.Client().Create(t.Context(), foreign); err != nil {
				t.Fatal(err)
			}
			w.delete()
			if diff := cmp.Diff([]string{"foreign=theirs"}, w.content()); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff([]string{}, w.history("shop")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestDeletionGroupsDuringTheUpdateToAReleaseHaveNoEffect(t *testing.T) {
	w := newWorld(t)
	w.use(threeConfigMaps)
	w.succeed("helmDeployment: false")
	w.use(twoConfigMaps)
	w.succeed("{helmDeployment: true, deletionGroupsDuringUpdate: [{customResourceGroup: {deleteAllResources: true, resources: [" +
		"{apiVersion: v1, kind: ConfigMap, namespaces: [NAMESPACE], names: [one]}]}}]}")
	if diff := cmp.Diff([]string{"one=default", "two=second"}, w.content()); diff != "" {
		t.Error(diff)
	}
}

func TestAStatusOfSomethingElseIsNotTouched(t *testing.T) {
	w := newWorld(t)
	w.use(oneConfigMap)
	w.remember("{apiVersion: other/v1, kind: ProviderStatus}")
	_, err := w.deploy("")
	assertFailure(t, err, failed{reason: "UnreadableStatus", terminal: true, contains: []string{"other/v1"}})
}

func TestDriftIsRepaired(t *testing.T) {
	for _, mode := range []string{"true", "false"} {
		t.Run("helmDeployment "+mode, func(t *testing.T) {
			w := newWorld(t)
			w.use(twoConfigMaps)
			w.succeed("{helmDeployment: " + mode + ", continuousReconcile: {every: 1h}, values: {key: first}}")
			repair := func() string {
				progress, err := w.deployer.Repair(t.Context(), w.work())
				if err != nil {
					t.Fatal(err)
				}
				return progress.Repaired
			}
			seen := 0
			w.writes(&seen)
			if got := repair(); got != "" || len(w.writes(&seen)) > 0 {
				t.Errorf("without drift: %q", got)
			}
			one := w.configMap("one")
			one.Data["key"] = "changed"
			if err := w.server.Client().Update(t.Context(), one); err != nil {
				t.Fatal(err)
			}
			if err := w.server.Client().Delete(t.Context(), w.configMap("two")); err != nil {
				t.Fatal(err)
			}
			want := "corrected ConfigMap " + w.namespace + "/one, created ConfigMap " + w.namespace + "/two"
			if diff := cmp.Diff(want, repair()); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff([]string{"one=first", "two=second"}, w.content()); diff != "" {
				t.Error(diff)
			}
			if got := repair(); got != "" {
				t.Errorf("after the repair: %q", got)
			}
			after := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
			if next, ok := w.deployer.NextRepair(w.item, after); !ok || !next.Equal(after.Add(time.Hour)) {
				t.Errorf("the next repair is at %v, %v", next, ok)
			}
		})
	}
}

func TestATargetThatCannotBeReached(t *testing.T) {
	for _, mode := range []string{"true", "false"} {
		t.Run("helmDeployment "+mode, func(t *testing.T) {
			w := newWorld(t)
			w.use(oneConfigMap)
			w.configure("helmDeployment: " + mode)
			work := w.work()
			dead := testkit.Target(w.namespace, "dead").Kubeconfig(`{apiVersion: v1, kind: Config, current-context: it, contexts: [{name: it, context: {cluster: it, user: it}}],
clusters: [{name: it, cluster: {server: "https://127.0.0.1:1"}}], users: [{name: it, user: {token: t}}]}`).Build()
			cluster, err := w.clusters.For(t.Context(), dead)
			if err != nil {
				t.Fatal(err)
			}
			work.Cluster = cluster
			ctx, cancel := context.WithTimeout(t.Context(), testkit.Patience)
			defer cancel()
			_, err = w.deployer.Intend(ctx, work)
			if err == nil {
				_, err = w.deployer.Deploy(ctx, work)
			}
			if err == nil || failure.KindOf(err) != failure.Retryable || failure.DetailsOf(err).Reason != "TargetUnreachable" {
				t.Errorf("%+v: %v", failure.DetailsOf(err), err)
			}
		})
	}
}
