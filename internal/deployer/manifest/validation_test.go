// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package manifest_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	landscaper "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/failure"
)

const v1alpha1Head = "apiVersion: manifest.deployer.landscaper.gardener.cloud/v1alpha1\nkind: ProviderConfiguration\n"

func TestConfigurationsThatAreRejected(t *testing.T) {
	w := newWorld(t)
	from := "fromResource: {apiVersion: v1, kind: ConfigMap, name: one, namespace: NAMESPACE}"
	for text, want := range map[string]string{
		"surprise: 1": `unknown field "surprise"`,
		"manifests: [{manifest: " + one1 + ", surprise: 1}]": `unknown field "manifests[0].surprise"`,
		"manifests: {}":                             "manifests",
		"updateStrategy: replace":                   "spec.config.updateStrategy:",
		"manifests: [{}]":                           "spec.config.manifests[0].manifest: is missing",
		"manifests: [{manifest: {kind: X}}]":        "spec.config.manifests[0].manifest.apiVersion:",
		"manifests: [{manifest: {apiVersion: v1}}]": "spec.config.manifests[0].manifest",
		"manifests: [{manifest: {apiVersion: a/b/c, kind: X, metadata: {name: x}}}]":                              "spec.config.manifests[0].manifest.apiVersion:",
		"manifests: [{manifest: {apiVersion: v1, kind: ConfigMap, metadata: {generateName: x}}}]":                 "spec.config.manifests[0].manifest.metadata.name:",
		"manifests: [{manifest: {apiVersion: v1, kind: ConfigMap, metadata: {name: x}}}]":                         "spec.config.manifests[0].manifest.metadata.namespace:",
		"manifests: [{manifest: {apiVersion: v1, kind: List, items: [" + one1 + ", 5]}}]":                         "spec.config.manifests[0].manifest.items[1]:",
		"manifests: [{manifest: {apiVersion: v1, kind: List, items: [{apiVersion: v1, kind: List, items: []}]}}]": "spec.config.manifests[0].manifest.items[0].kind: is a list within a list",
		these(one1, two2, one1):                                                                            "spec.config.manifests[2].manifest: is the same object as spec.config.manifests[0].manifest",
		"manifests: [{policy: mine, manifest: " + one1 + "}]":                                              "spec.config.manifests[0].policy:",
		"manifests: [{patchBeforeDelete: [], manifest: " + one1 + "}]":                                     "spec.config.manifests[0].patchBeforeDelete:",
		"manifests: [{patchAfterDeployment: text, manifest: " + one1 + "}]":                                "spec.config.manifests[0].patchAfterDeployment:",
		"continuousReconcile: {}":                                                                          "spec.config.continuousReconcile:",
		"continuousReconcile: {every: 1h, cron: '* * * * *'}":                                              "spec.config.continuousReconcile:",
		"continuousReconcile: {cron: sometimes}":                                                           "spec.config.continuousReconcile:",
		"exports: {exports: [{jsonPath: .a, " + from + "}]}":                                               "spec.config.exports.exports[0].key:",
		"exports: {exports: [{key: a, " + from + "}]}":                                                     "spec.config.exports.exports[0].jsonPath:",
		"exports: {exports: [{key: a, jsonPath: '.a[', " + from + "}]}":                                    "spec.config.exports.exports[0].jsonPath:",
		"exports: {exports: [{key: a, jsonPath: .a}]}":                                                     "spec.config.exports.exports[0].fromResource:",
		"exports: {exports: [{key: a, jsonPath: .a, " + from + "}, {key: a, jsonPath: .a, " + from + "}]}": "spec.config.exports.exports[1].key:",
		"exports: {exports: [{key: a, jsonPath: .a, fromObjectRef: {}, " + from + "}]}":                    "spec.config.exports.exports[0].fromObjectRef:",
		check("resourceSelector: []", "{jsonPath: .a, operator: exists}"):                                  "spec.config.readinessChecks.custom[0]:",
		check("resourceSelector: [{}]", "{jsonPath: .a, operator: exists}"):                                "spec.config.readinessChecks.custom[0].resourceSelector[0]:",
		check("labelSelector: {apiVersion: v1, kind: Pod}", "{jsonPath: .a, operator: exists}"):            "spec.config.readinessChecks.custom[0].labelSelector:",
		replace(check(selectOne, "{jsonPath: .a, operator: exists}"), "name: mine, ", ""):                  "spec.config.readinessChecks.custom[0].name:",
		check(selectOne, ""): "spec.config.readinessChecks.custom[0].requirements:",
		check(selectOne, "{jsonPath: .a, operator: like}"):                                   "spec.config.readinessChecks.custom[0].requirements[0].operator:",
		check(selectOne, "{jsonPath: .a, operator: exists, values: [{value: 1}]}"):           "spec.config.readinessChecks.custom[0].requirements[0].values:",
		check(selectOne, "{jsonPath: .a, operator: '==', values: [{value: 1}, {value: 2}]}"): "spec.config.readinessChecks.custom[0].requirements[0].values:",
		check(selectOne, "{jsonPath: .a, operator: in}"):                                     "spec.config.readinessChecks.custom[0].requirements[0].values:",
		"deletionGroups: [{}]": "spec.config.deletionGroups[0]:",
		"deletionGroups: [{predefinedResourceGroup: {type: all}}]":                                         "spec.config.deletionGroups[0].predefinedResourceGroup.type:",
		"deletionGroupsDuringUpdate: [{customResourceGroup: {}}]":                                          "spec.config.deletionGroupsDuringUpdate[0].customResourceGroup.resources:",
		"deletionGroups: [{customResourceGroup: {resources: [{kind: X}]}}]":                                "spec.config.deletionGroups[0].customResourceGroup.resources[0]:",
		"deletionGroups: [{customResourceGroup: {targetName: x, resources: [{apiVersion: v1, kind: X}]}}]": "spec.config.deletionGroups[0].customResourceGroup.targetName:",
	} {
		t.Run(want, func(t *testing.T) {
			_, err := w.deploy(text)
			if failure.KindOf(err) != failure.Terminal ||
				!slices.Equal(failure.DetailsOf(err).Codes, []string{string(landscaper.ErrorConfigurationProblem)}) {
				t.Fatalf("the error is not a configuration problem: %v", err)
			}
			if !strings.Contains(err.Error(), want) {
				t.Errorf("the error is %v, want %q in it", err, want)
			}
		})
	}
	if writes := w.writes(); len(writes) > 0 {
		t.Errorf("there were the writes %v", writes)
	}
}

func TestHeadsThatAreRefused(t *testing.T) {
	w := newWorld(t)
	for text, want := range map[string]string{
		"{}":          "spec.config.kind",
		"kind: Other": "spec.config.kind",
		"- a":         "spec.config: is not a JSON object",
		"kind: ProviderConfiguration\napiVersion: v1":     "spec.config.apiVersion",
		v1alpha1Head + "continuousReconcile: {every: 1h}": `unknown field "continuousReconcile"`,
		v1alpha1Head + "updateStrategy: merge":            "spec.config.updateStrategy:",
		v1alpha1Head + "manifests: [{policy: keep}]":      "spec.config.manifests[0].manifest",
	} {
		w.configureRaw(text)
		if err := w.start(); failure.KindOf(err) != failure.Terminal || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	w.item.Spec.Configuration = nil
	if err := w.start(); failure.KindOf(err) != failure.Terminal || !strings.Contains(err.Error(), "spec.config: is missing") {
		t.Errorf("no configuration: %v", err)
	}
}

func TestTooManyProblemsAndObjects(t *testing.T) {
	w := newWorld(t)
	_, err := w.deploy("manifests: [" + strings.Repeat("{},", 30) + "{}]")
	if err == nil || !strings.Contains(err.Error(), "and 21 more") {
		t.Errorf("the error is %v", err)
	}
	var text strings.Builder
	for i := range 2001 {
		fmt.Fprintf(&text, "- {manifest: {apiVersion: v1, kind: ConfigMap, metadata: {name: c%d, namespace: x}}}\n", i)
	}
	if _, err := w.deploy("manifests:\n" + text.String()); err == nil || !strings.Contains(err.Error(), "at most 2000") {
		t.Errorf("the error is %v", err)
	}
}

// Fields of earlier versions still occur in configurations. They have no effect.
func TestTheFirstVersionAndRetiredFields(t *testing.T) {
	w := newWorld(t)
	w.configureRaw(v1alpha1Head + `
updateStrategy: patch
deleteTimeout: 2m
readinessChecks: {timeout: 1m, custom: [{name: mine, timeout: 1m, ` + selectOne + `, requirements: [{jsonPath: .data.key, operator: exists}]}]}
exports: {defaultTimeout: 1m, exports: [{key: mine, timeout: 1m, jsonPath: .data.key, fromResource: {apiVersion: v1, kind: ConfigMap, name: one, namespace: NAMESPACE}}]}
manifests:
- ` + one1 + `
- {apiVersion: v1, kind: ConfigMapList, items: [{metadata: {name: two, namespace: NAMESPACE}, data: {big: "9007199254740993"}}]}
`)
	progress, err := w.run()
	if err != nil || progress.Exports["mine"] != "value" {
		t.Fatalf("%+v, %v", progress, err)
	}
	if w.configMap("two") == nil {
		t.Error("the object of the typed list is missing")
	}
	if !strings.Contains(string(w.item.Status.ProviderStatus.Raw), "v1alpha2") {
		t.Errorf("the status is %s", w.item.Status.ProviderStatus.Raw)
	}
	w.delete()
	if w.configMap("one") != nil || w.configMap("two") != nil {
		t.Error("they were not deleted")
	}
}
