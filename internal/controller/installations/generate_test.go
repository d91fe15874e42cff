// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package installations_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/dataflow"
	"espalier.dev/internal/testkit"
)

// generating deploys and exports passwords that its templates generate.
const generating = header + `
exports: [{name: word, schema: {type: string}}]
deployExecutions:
- name: default
  type: Spiff
  template:
    password: (( &state(rand("[:alnum:]", 20)) ))
    deployItems:
    - name: only
      type: landscaper.gardener.cloud/mock
      config: {apiVersion: mock.deployer.landscaper.gardener.cloud/v1alpha1, kind: ProviderConfiguration, export: {password: (( .password ))}}
exportExecutions:
- name: default
  type: GoTemplate
  template: |
    {{ $suffix := randAlphaNum 20 }}
    {{ if .state }}{{ $suffix = .state.suffix }}{{ end }}
    state: {suffix: {{ $suffix }}}
    exports: {word: {{ .values.deployitems.only.password }}-{{ $suffix }}}
`

// exported returns the word that the installation app exports.
func (w *world) exported() string {
	w.Helper()
	object := testkit.DataObject(w.namespace, dataflow.Scope{Namespace: w.namespace}.ObjectName("word"), nil).Build()
	if !w.get(object) {
		w.Fatal("nothing is exported")
	}
	return string(object.Data.Raw)
}

func (w *world) again(name string) {
	w.Helper()
	before := w.named(name)
	w.get(before)
	w.request(name)
	w.eventually(name, "asked again", func(i *lsv1alpha1.Installation) bool { return i.Status.JobID != before.Status.JobID })
	w.finished(name, lsv1alpha1.PhaseSucceeded)
}

// Generated values stay the same from job to job, until their state is deleted.
func TestGeneratedValuesStay(t *testing.T) {
	w := newWorld(t)
	w.create(w.installation("app", generating).ExportData("word", "word").Reconcile().Build())
	w.finished("app", lsv1alpha1.PhaseSucceeded)
	first := w.exported()
	if len(first) < 40 {
		t.Fatalf("%s is exported", first)
	}
	w.again("app")
	if second := w.exported(); second != first {
		t.Errorf("%s is exported, then %s", first, second)
	}
	for _, kind := range []dataflow.StateKind{dataflow.StateDeploy, dataflow.StateExport} {
		secret := &corev1.Secret{}
		secret.Namespace, secret.Name = w.namespace, dataflow.StateSecret("app", kind, "default")
		if err := w.cluster.Delete(w.Context(), secret, client.PropagationPolicy("Background")); err != nil {
			t.Fatal(err)
		}
	}
	w.again("app")
	if third := w.exported(); third == first || len(third) < 40 {
		t.Errorf("%s is exported after the states were deleted", third)
	}
}
