// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/testkit"
)

// installationOf returns the manifest of an installation. Spec is the rest of its spec beside the blueprint, both without indentation.
func installationOf(name, spec, blueprint string) string {
	return fmt.Sprintf(`
apiVersion: landscaper.gardener.cloud/v1alpha1
kind: Installation
metadata: {name: %s}
spec:
%s
  blueprint:
    inline:
      filesystem:
        blueprint.yaml: |
          apiVersion: landscaper.gardener.cloud/v1alpha1
          kind: Blueprint
%s
`, name, indented(spec, 2), indented(blueprint, 10))
}

func indented(text string, by int) string {
	space := strings.Repeat(" ", by)
	return space + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n"+space)
}

// mockItem returns a deploy execution with one deploy item of the mock deployer.
func mockItem(settings string) string {
	return fmt.Sprintf(`
deployExecutions:
- name: default
  type: GoTemplate
  template: |
    deployItems:
    - name: one
      type: landscaper.gardener.cloud/mock
      config: {apiVersion: mock.deployer.landscaper.gardener.cloud/v1alpha1, kind: ProviderConfiguration, %s}
`, settings)
}

// exporter exports data with a constant value.
func exporter(name, value string) string {
	return fmt.Sprintf(`
exports:
- {name: %s, type: data, schema: {}}
exportExecutions:
- name: default
  type: GoTemplate
  template: |
    exports: {%s: %s}
`, name, name, value)
}

// Landscaper drops the error, creates no nested installations at all and succeeds.
func TestJOB31_NestedInstallationsInACycleFailTheJob(t *testing.T) {
	w := newWorld(t)
	nested := func(name, imports, exports string) string {
		return fmt.Sprintf(`
- apiVersion: landscaper.gardener.cloud/v1alpha1
  kind: InstallationTemplate
  name: %s
  blueprint: {filesystem: {blueprint.yaml: "apiVersion: landscaper.gardener.cloud/v1alpha1\nkind: Blueprint\n"}}
  imports: {data: [{name: in, dataRef: %s}]}
  exports: {data: [{name: out, dataRef: %s}]}`, name, imports, exports)
	}
	w.create(installationOf("ring", "context: default", "subinstallations:"+nested("a", "of-b", "of-a")+nested("b", "of-a", "of-b")))
	w.request("ring")
	failed := w.finished("ring", lsv1alpha1.PhaseFailed)
	if message := failed.Status.LastError.Message; !strings.Contains(message, "a imports") || !strings.Contains(message, "b imports") {
		t.Errorf("the error does not name the cycle: %s", message)
	}
	if names := w.names(&lsv1alpha1.InstallationList{}); len(names) != 1 {
		t.Errorf("installations: %v", names)
	}
}

// Landscaper starts jobs only of those successors, and at deletion waits only for those, that import other than by a target map.
func TestJOB26_JOB42_ATargetMapMakesASuccessor(t *testing.T) {
	w := newWorld(t)
	w.create(
		installationOf("maker", "exports: {targets: [{name: made, target: made}]}", `
exports:
- {name: made, type: target, targetType: example.com/any}
exportExecutions:
- name: default
  type: GoTemplate
  template: |
    exports: {made: {type: example.com/any, config: {}}}
`),
		installationOf("user", "imports: {targets: [{name: places, targetMap: {here: made}}]}", `
imports:
- {name: places, type: targetMap, targetType: example.com/any}
`))
	w.request("maker")
	w.finished("maker", lsv1alpha1.PhaseSucceeded)
	w.finished("user", lsv1alpha1.PhaseSucceeded)

	w.Delete(w.installation("maker"))
	testkit.Eventually(
		t,
		w.APIServer,
		w.installation("maker"),
		testkit.Is("waiting for its successor", func(i *lsv1alpha1.Installation) bool {
			return i.Status.Phase == lsv1alpha1.PhaseInitDelete && slices.ContainsFunc(i.Status.Conditions, func(c lsv1alpha1.Condition) bool {
				return c.Reason == lsv1alpha1.ReasonWaitingForSuccessors && strings.Contains(c.Message, "installation user")
			})
		}),
	)
	w.removed("user")
	testkit.EventuallyGone(t, w.APIServer, w.installation("maker"))
}

// Landscaper nevertheless starts their jobs, and they fail because of that.
func TestJOB26_SuccessorsOfAFailureAreLeftAlone(t *testing.T) {
	w := newWorld(t)
	recorder := w.record()
	w.create(
		installationOf("first", "exports: {data: [{name: word, dataRef: word}]}", exporter("word", "one")+mockItem("phase: Failed")),
		installationOf("second", "imports: {data: [{name: word, dataRef: word}]}", "imports: [{name: word, type: data, schema: {}}]"))
	w.request("first")
	w.finished("first", lsv1alpha1.PhaseFailed)
	recorder.Quiet(t, time.Second)
	if second := w.installation("second"); w.Read(second) && (second.Status.JobID != "" || len(second.Annotations) > 0) {
		t.Errorf("the successor was asked for a job: %v %+v", second.Annotations, second.Status)
	}
}

// Landscaper deletes its exports when a job starts. Meanwhile, readers find nothing.
func TestJOB25_ExportsStayUntilThereAreNewOnes(t *testing.T) {
	w := newWorld(t)
	w.create(installationOf("app", "exports: {data: [{name: word, dataRef: word}]}", exporter("word", "one")))
	w.request("app")
	w.finished("app", lsv1alpha1.PhaseSucceeded)
	recorder := w.record()
	w.create(
		installationOf(
			"app",
			"exports: {data: [{name: word, dataRef: word}]}",
			exporter("word", "two")+mockItem("initialPhase: Progressing, phase: Succeeded"),
		),
	)
	w.rerun("app", lsv1alpha1.PhaseSucceeded)
	word := &lsv1alpha1.DataObject{}
	word.Namespace, word.Name = w.Namespace, "word"
	if values := recorder.Of(word).Transitions("data"); !slices.Equal(values, []string{"one", "two"}) {
		t.Errorf("the export went through %q", values)
	}
}

// Landscaper uses the generation of the Target, which a new credential does not change.
func TestJOB20_TheHashOfImportsCoversTheSecretOfATarget(t *testing.T) {
	w := newWorld(t)
	secret := func(kubeconfig string) string {
		return "apiVersion: v1\nkind: Secret\nmetadata: {name: credential}\nstringData: {kubeconfig: " + kubeconfig + "}"
	}
	w.create(secret("one"), `
apiVersion: landscaper.gardener.cloud/v1alpha1
kind: Target
metadata: {name: place}
spec: {type: landscaper.gardener.cloud/kubernetes-cluster, secretRef: {name: credential, key: kubeconfig}}
`, installationOf("app", "imports: {targets: [{name: place, target: place}]}", "imports: [{name: place, type: target, targetType: kubernetes-cluster}]"))
	first := w.rerun("app", lsv1alpha1.PhaseSucceeded)
	same := w.rerun("app", lsv1alpha1.PhaseSucceeded)
	w.create(secret("two"))
	other := w.rerun("app", lsv1alpha1.PhaseSucceeded)
	if first.Status.ImportsHash != same.Status.ImportsHash || same.Status.ImportsHash == other.Status.ImportsHash {
		t.Errorf("hashes: %s, again %s, with another Secret %s", first.Status.ImportsHash, same.Status.ImportsHash, other.Status.ImportsHash)
	}
}

// Landscaper adds its prefix to a target type without a slash for single targets and lists, but not for maps, so that no target matches.
func TestJOB20_TheShortNameOfATargetTypeHoldsForMaps(t *testing.T) {
	w := newWorld(t)
	w.create(
		clusterTarget,
		installationOf(
			"app",
			"imports: {targets: [{name: places, targetMap: {here: cluster}}]}",
			"imports: [{name: places, type: targetMap, targetType: kubernetes-cluster}]",
		),
	)
	w.rerun("app", lsv1alpha1.PhaseSucceeded)
}

// Landscaper keeps the states of deploy executions and of executions for nested installations in the same place.
func TestJOB20_ExecutorsOfEqualNameHaveSeparateStates(t *testing.T) {
	w := newWorld(t)
	w.create(installationOf("app", "exports: {data: [{name: seen, dataRef: seen}]}", `
exports: [{name: seen, type: data, schema: {}}]
subinstallationExecutions:
- name: same
  type: GoTemplate
  template: |
    subinstallations: []
    state: {by: nested}
deployExecutions:
- name: same
  type: GoTemplate
  template: |
    deployItems:
    - name: one
      type: landscaper.gardener.cloud/mock
      config:
        apiVersion: mock.deployer.landscaper.gardener.cloud/v1alpha1
        kind: ProviderConfiguration
        export: {by: "{{ if .state }}{{ .state.by }}{{ else }}nobody{{ end }}"}
    state: {by: deploy}
exportExecutions:
- name: same
  type: GoTemplate
  template: |
    exports: {seen: {{ .values.deployitems.one.by }}}
`))
	for _, want := range []string{`"nobody"`, `"deploy"`} {
		w.rerun("app", lsv1alpha1.PhaseSucceeded)
		if got := w.data("seen"); got != want {
			t.Errorf("the deploy execution has seen the state of %s, want %s", got, want)
		}
	}
}

// In Landscaper, no limit means an immediate timeout.
func TestJOB74_NoTimeoutIsNoLimit(t *testing.T) {
	w := newWorld(t)
	w.create(
		installationOf(
			"app",
			"context: default",
			strings.Replace(mockItem("initialPhase: Progressing, phase: Succeeded"), "      config:", "      timeout: none\n      config:", 1),
		),
	)
	w.rerun("app", lsv1alpha1.PhaseSucceeded)
	if timeout := w.items()["one"].Spec.Timeout; timeout == nil || *timeout != "none" {
		t.Errorf("the timeout is %v", timeout)
	}
}

// Landscaper handles only removed clusters that are Gardener shoots, through a TargetSync.
func TestJOB44_ItemsOfARemovedClusterCanBeLetGo(t *testing.T) {
	w := newWorld(t)
	w.create(clusterTarget, installationOf("app", "context: default", `
deployExecutions:
- name: default
  type: GoTemplate
  template: |
    deployItems:
    - name: one
      type: landscaper.gardener.cloud/kubernetes-manifest
      target: {name: cluster}
      onDelete: {skipUninstallIfClusterRemoved: true}
      config:
        apiVersion: manifest.deployer.landscaper.gardener.cloud/v1alpha2
        kind: ProviderConfiguration
        manifests:
        - manifest: {apiVersion: v1, kind: ConfigMap, metadata: {name: deployed, namespace: NAMESPACE}}
`))
	w.rerun("app", lsv1alpha1.PhaseSucceeded)
	target := &lsv1alpha1.Target{}
	target.Namespace, target.Name = w.Namespace, "cluster"
	w.Delete(target)
	w.removed("app")
	if !w.Read(w.configMap("deployed")) {
		t.Error("somebody has reached the cluster that does not exist")
	}
}

// Landscaper fails a deploy item at once if its Target does not exist yet.
func TestJOB30_ATargetMayComeLater(t *testing.T) {
	w := newWorld(t)
	w.create(installationOf("app", "context: default", `
deployExecutions:
- name: default
  type: GoTemplate
  template: |
    deployItems:
    - name: one
      type: landscaper.gardener.cloud/kubernetes-manifest
      target: {name: cluster}
      config:
        apiVersion: manifest.deployer.landscaper.gardener.cloud/v1alpha2
        kind: ProviderConfiguration
        manifests:
        - manifest: {apiVersion: v1, kind: ConfigMap, metadata: {name: deployed, namespace: NAMESPACE}}
`))
	w.request("app")
	testkit.Eventually(
		t,
		w.APIServer,
		w.execution("app"),
		testkit.Is("running", func(e *lsv1alpha1.Execution) bool { return e.Status.Phase == lsv1alpha1.PhaseProgressing }),
	)
	testkit.Eventually(t, w.APIServer, w.items()["one"], testkit.Is("waiting for its Target", func(i *lsv1alpha1.DeployItem) bool {
		return slices.ContainsFunc(i.Status.Conditions, func(c lsv1alpha1.Condition) bool { return c.Reason == lsv1alpha1.ReasonNoTargetFound })
	}))
	w.create(clusterTarget)
	w.finished("app", lsv1alpha1.PhaseSucceeded)
	if !w.Read(w.configMap("deployed")) {
		t.Error("nothing was deployed")
	}
}
