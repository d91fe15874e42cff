// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package helm_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
)

func TestConfigurationsAreChecked(t *testing.T) {
	w := newWorld(t)
	w.use(oneConfigMap)
	for text, problems := range map[string][]string{
		"kind: Other": {`spec.config.kind: is "Other"`},
		"apiVersion: helm.deployer.landscaper.gardener.cloud/v2":       {"spec.config.apiVersion: is"},
		"{name: '', namespace: ''}":                                    {"spec.config.name: is missing", "spec.config.namespace: is missing"},
		"{name: Not_A_Name, namespace: also_not}":                      {"spec.config.name: is not", "spec.config.namespace: is not"},
		"name: " + strings.Repeat("a", 54):                             {"spec.config.name: is not the name of a release"},
		"values: [a]":                                                  {"spec.config.values: must be an object"},
		"chart: null":                                                  {"spec.config.chart: has no source"},
		"chart: {archive: {}}":                                         {"spec.config.chart.archive: needs raw or remote.url"},
		"chart: {archive: null, helmChartRepo: {helmChartName: x}}":    {"spec.config.chart.helmChartRepo: needs"},
		"chart: {archive: null, fromResource: {resourceName: x}}":      {"spec.config.chart.fromResource: is no longer supported"},
		"chart: {archive: {}, ref: registry.example/shop:1.0.0}":       {"spec.config.chart.archive: needs raw or remote.url"},
		"chart: {fromResource: {resourceName: x}, resourceRef: abc}":   {"spec.config.chart.fromResource: is no longer supported"},
		"unknown: field":                                               {`unknown field "unknown"`},
		"updateStrategy: replace":                                      {"spec.config.updateStrategy: is \"replace\""},
		"helmDeploymentConfig: {install: {atomic: true, nonsense: 1}}": {`spec.config.helmDeploymentConfig.install: unknown field "nonsense"`},
		"helmDeploymentConfig: {upgrade: {wait: 'yes'}}":               {"spec.config.helmDeploymentConfig.upgrade:"},
		"helmDeploymentConfig: {uninstall: {force: true}}":             {`spec.config.helmDeploymentConfig.uninstall: unknown field "force"`},
		"helmDeploymentConfig: {uninstall: {timeout: soon}}":           {"spec.config.helmDeploymentConfig.uninstall.timeout:"},
		"helmDeploymentConfig: {install: {test: 'yes'}}":               {"spec.config.helmDeploymentConfig.install:"},
		"helmDeploymentConfig: {uninstall: {test: true}}":              {`spec.config.helmDeploymentConfig.uninstall: unknown field "test"`},
		"{helmDeployment: false, helmDeploymentConfig: {install: {test: true}}}": {
			"spec.config.helmDeploymentConfig.install.test: needs a release",
		},
		"{helmDeployment: false, helmDeploymentConfig: {upgrade: {test: true}}}": {
			"spec.config.helmDeploymentConfig.upgrade.test: needs a release",
		},
		"continuousReconcile: {}":                                              {"spec.config.continuousReconcile: needs either"},
		"deletionGroups: [{}]":                                                 {"spec.config.deletionGroups[0]: needs either"},
		"deletionGroupsDuringUpdate: [{}]":                                     {"spec.config.deletionGroupsDuringUpdate[0]: needs either"},
		"readinessChecks: {custom: [{}]}":                                      {"spec.config.readinessChecks.custom[0].name: is missing"},
		"exportsFromManifests: [{key: a, jsonPath: .a}]":                       {"spec.config.exportsFromManifests[0].fromResource: must identify an object"},
		"exports: {exports: [{key: a, jsonPath: .a}, {jsonPath: ''}]}":         {"spec.config.exports.exports[1].key: is missing", "spec.config.exports.exports[1].jsonPath"},
		"exports: {exports: [{key: a, jsonPath: .a}, {key: a, jsonPath: .b}]}": {`spec.config.exports.exports[1].key: "a" is used twice`},
		"exports: {exports: [{key: a, jsonPath: .a, targetName: b}]}":          {"spec.config.exports.exports[0]: needs fromResource"},
	} {
		w.configure(text)
		err := w.start()
		if err == nil {
			t.Errorf("%s is accepted", text)
			continue
		}
		assertFailure(t, err, failed{reason: "InvalidConfiguration", terminal: true, codes: []string{"ERR_CONFIGURATION_PROBLEM"}, contains: problems})
	}
	w.item.Spec.Configuration = nil
	assertFailure(t, w.start(), failed{reason: "InvalidConfiguration", terminal: true, contains: []string{"spec.config: is missing"}})
	w.item.Spec.Configuration = &runtime.RawExtension{Raw: []byte("[]")}
	assertFailure(t, w.start(), failed{reason: "InvalidConfiguration", terminal: true, contains: []string{"spec.config: is not a JSON object"}})
}

// Fields that were retired long ago still occur in configurations and do no harm.
func TestRetiredFieldsAreIgnored(t *testing.T) {
	w := newWorld(t)
	w.use(oneConfigMap)
	w.succeed(`
deleteTimeout: 3m
readinessChecks: {timeout: 3m}
exportsFromManifests: [{key: a, timeout: 1m, jsonPath: .data.key, fromResource: {apiVersion: v1, kind: ConfigMap, name: one, namespace: NAMESPACE}}]
`)
}
