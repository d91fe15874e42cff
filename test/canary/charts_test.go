// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package canary_test

import (
	"encoding/base64"
	"maps"

	"espalier.dev/internal/archive"
)

func init() { maps.Copy(paths, chartPaths) }

// packed returns a chart with one template, in the form of a configuration.
func packed(template, schema string) string {
	files := archive.Files{
		"c/Chart.yaml":         []byte("apiVersion: v2\nname: c\nversion: 1.0.0\n"),
		"c/templates/one.yaml": []byte(template),
		"c/values.yaml":        []byte("word: x\n"),
	}
	if schema != "" {
		files["c/values.schema.json"] = []byte(schema)
	}
	tar, err := archive.Tar(files)
	if err != nil {
		panic(err)
	}
	data, err := archive.Gzip(tar)
	if err != nil {
		panic(err)
	}
	return base64.StdEncoding.EncodeToString(data)
}

const chartDeployment = `apiVersion: apps/v1
kind: Deployment
metadata: {name: {{ .Release.Name }}}
spec:
  selector: {matchLabels: {a: b}}
  template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i, imagePullPolicy: {{ .Values.word | quote }}}]}}
`

// release deploys a chart with the given rest of the configuration.
func release(config string) string {
	return deployItem("name: one, type: landscaper.gardener.cloud/helm, target: {import: cluster}, " +
		"config: {apiVersion: helm.deployer.landscaper.gardener.cloud/v1alpha1, kind: ProviderConfiguration, " + config + "}")
}

func chart(name, template, schema, more string) string {
	return release("name: " + name + ", namespace: NAMESPACE, chart: {archive: {raw: " + packed(template, schema) + "}}, " +
		`values: {word: "@"}` + more)
}

// chartPaths are the paths of a secret through a Helm chart.
var chartPaths = map[string]path{
	"chart-refused":  {blueprint: chart("refused", chartDeployment, "", ""), item: true, want: "imagePullPolicy"},
	"chart-template": {blueprint: chart("template", chartDeployment, "", ", helmDeployment: false"), item: true, want: "imagePullPolicy"},
	"chart-schema": {
		blueprint: chart("schema", chartDeployment, `{"type":"object","properties":{"word":{"type":"integer"}}}`, ""),
		item:      true,
		want:      "word",
	},
	"chart-pattern": {
		blueprint: chart("pattern", chartDeployment, `{"type":"object","properties":{"word":{"type":"string","maxLength":2}}}`, ""),
		item:      true,
		want:      "word",
	},
	"chart-fails":     {blueprint: chart("fails", `{{ fail .Values.word }}`, "", ""), item: true, want: "templates/one.yaml"},
	"chart-no-object": {blueprint: chart("none", "{{ .Values.word }}: {{ .Values.word }}", "", ""), item: true, want: "Kind"},
	"chart-name": {
		blueprint: release(`name: "@ ", namespace: NAMESPACE, chart: {archive: {raw: ` + packed(chartDeployment, "") + `}}`),
		item:      true,
		want:      "name",
	},
	"chart-namespace": {
		blueprint: release(`name: a, namespace: "@ ", chart: {archive: {raw: ` + packed(chartDeployment, "") + `}}`),
		item:      true,
		want:      "namespace",
	},
	"chart-raw":    {blueprint: release(`name: a, namespace: NAMESPACE, chart: {archive: {raw: "@"}}`), item: true, want: "chart.archive.raw"},
	"chart-remote": {blueprint: release(`name: a, namespace: NAMESPACE, chart: {archive: {remote: {url: "@"}}}`), item: true, want: "chart.archive.remote"},
	"chart-ref":    {blueprint: release(`name: a, namespace: NAMESPACE, chart: {ref: "@"}`), item: true, want: "chart.ref"},
	"chart-host":   {blueprint: release(`name: a, namespace: NAMESPACE, chart: {ref: "@.invalid/a:1"}`), item: true, want: "chart.ref"},
	"chart-tag":    {blueprint: release(`name: a, namespace: NAMESPACE, chart: {ref: "http://127.0.0.1:1/a:@"}`), item: true, want: "chart.ref"},
	"chart-key":    {blueprint: release(`name: a, namespace: NAMESPACE, chart: {resourceRef: "@"}`), item: true, want: "chart.resourceRef"},
	"chart-version": {
		blueprint: release(`name: a, namespace: NAMESPACE, chart: {helmChartRepo: {helmChartRepoUrl: "http://127.0.0.1:1", helmChartName: c, helmChartVersion: "@"}}`),
		item:      true,
		want:      "chart repository",
	},
	"chart-repository": {
		blueprint: release(`name: a, namespace: NAMESPACE, chart: {helmChartRepo: {helmChartRepoUrl: "https://@.invalid", helmChartName: c, helmChartVersion: "1.0.0"}}`),
		item:      true,
		want:      "chart repository",
	},
	"chart-export": {
		blueprint: chart("export", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: export}\n", "",
			`, exports: {exports: [{key: k, jsonPath: ".Values.@["}]}`),
		item: true,
		want: "jsonPath",
	},
}
