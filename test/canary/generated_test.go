// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package canary_test

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/controller/installations"
	"espalier.dev/internal/dataflow"
	engine "espalier.dev/internal/template"
)

// Values that templates generate stay secret, also if they are never stored because there is no plan.
func TestGeneratedValuesStaySecret(t *testing.T) {
	w := newWorld(t)
	w.plays()
	w.target("cluster", w.kubeconfig)
	generated := map[string]path{}
	for _, name := range []string{"item-depends-on", "item-name-twice", "item-timeout", "in-capitals", "replicas", "check-object", "export-key", "chart-fails"} {
		generated[name] = paths[name]
	}
	for _, name := range []string{"item-depends-on", "check-object", "export-key", "chart-fails"} {
		p := paths[name]
		p.continuous = true
		generated[name+"-flow"] = p
	}
	for name, p := range generated {
		w.secret(name, "harmless-value")
		p.blueprint = strings.NewReplacer(".imports.secret", "$made", "@", "{{ $made }}", "  template: |\n",
			"  template: |\n    {{ $made := randAlphaNum 24 }}{{ with .state }}{{ $made = .made }}{{ end }}\n    state: {made: {{ $made | quote }}}\n",
		).Replace(p.blueprint)
		w.create(p.installation(w, name))
	}
	canaries := map[string]string{}
	for name, p := range generated {
		if message := w.told(t, name, p.item); !strings.Contains(message, p.want) {
			t.Errorf("the message of %s does not say %q: %s", name, p.want, message)
		}
		canaries[name] = w.generatedBy(t, name)
	}
	w.quiet()
	w.wantNone(canaries)
}

// generatedBy returns the text that the deploy execution of an installation generates. If there is no plan, it is stored nowhere.
func (w *world) generatedBy(t *testing.T, name string) string {
	t.Helper()
	read := func(name string, object client.Object) error {
		return w.Client().Get(t.Context(), client.ObjectKey{Namespace: w.Namespace, Name: name}, object)
	}
	inst, key := &lsv1alpha1.Installation{}, &corev1.Secret{}
	if err := errors.Join(read(name, inst), read(installations.HashKeySecret, key)); err != nil {
		t.Fatal(err)
	}
	hasher, err := dataflow.NewHasher(key.Data["key"])
	if err != nil {
		t.Fatal(err)
	}
	seed := hasher.Seed(string(inst.UID) + "/" + cmp.Or(inst.Status.JobID, inst.Status.ConfigGeneration))
	const characters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
	made := engine.NewEntropy(seed, time.Time{}).For(string(dataflow.StateDeploy)+"/default").Text([]rune(characters), 24)
	stored := &corev1.Secret{}
	if err := read(dataflow.StateSecret(name, dataflow.StateDeploy, "default"), stored); client.IgnoreNotFound(err) != nil {
		t.Fatal(err)
	}
	if state := string(stored.Data[dataflow.StateSecretKey]); state != "" && !strings.Contains(state, made) {
		t.Fatalf("%s has generated something else than this test believes", name)
	}
	return made
}

// What a deploy item reads from a Secret of its target cluster stays secret where it is imported.
func TestSecretsOfTargetClustersStaySecret(t *testing.T) {
	w := newWorld(t)
	w.target("cluster", w.kubeconfig)
	canary := canaryOf(1)
	w.secret("of-target-cluster", canary)
	w.secret("exporter", "harmless-value")
	w.create(path{
		spec: "exports: {data: [{name: plain, dataRef: plain}, {name: encoded, dataRef: encoded}]}",
		blueprint: "exports: [{name: plain, type: data, schema: {}}, {name: encoded, type: data, schema: {}}]\n" +
			manifests("exports: {exports: [{key: password, jsonPath: .data.value, "+
				"fromResource: {apiVersion: v1, kind: Secret, name: of-target-cluster, namespace: NAMESPACE}}]}") +
			"exportExecutions:\n- name: default\n  type: GoTemplate\n  template: |\n    exports:\n" +
			"      encoded: {{ .values.deployitems.one.password }}\n      plain: {{ .values.deployitems.one.password | b64dec | quote }}\n",
	}.installation(w, "exporter"))
	for _, name := range []string{"plain", "encoded"} {
		importer := path{blueprint: mock(`name: one, dependsOn: ["@"]`)}.installation(w, name)
		w.create(strings.Replace(importer, fmt.Sprintf("secretRef: {name: %s, key: value}", name), "dataRef: "+name, 1))
		if message := w.told(t, name, false); !strings.Contains(message, "depends on") {
			t.Errorf("the message of %s does not say what is wrong: %s", name, message)
		}
	}
	w.quiet()
	w.wantNone(map[string]string{"the Secret of the target cluster": canary})
}
