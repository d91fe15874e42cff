// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package web

import (
	"slices"
	"strings"
	"testing"

	"espalier.dev/internal/blueprint"
	"espalier.dev/internal/web/view"
)

// woven contains everything that a drawing of a blueprint can show.
const woven = `apiVersion: landscaper.gardener.cloud/v1alpha1
kind: Blueprint
jsonSchemaVersion: https://json-schema.org/draft/2019-09/schema
imports:
- {name: cluster, type: target, targetType: landscaper.gardener.cloud/kubernetes-cluster}
- {name: sites, type: targetList, targetType: landscaper.gardener.cloud/kubernetes-cluster}
- {name: size, type: data, schema: {type: integer}}
- {name: names, type: data, schema: {type: array, items: {type: string}}}
- {name: forgotten, type: data, schema: {type: [string, "null"]}}
- name: options
  required: false
  type: data
  schema: {type: object}
  imports:
  - {name: region, type: data, schema: {enum: [eu, us]}}
importExecutions:
- {name: defaults, type: GoTemplate, template: 'bindings: {kind: {{ index .imports "region" }}}'}
subinstallations:
- apiVersion: landscaper.gardener.cloud/v1alpha1
  kind: InstallationTemplate
  name: database
  blueprint: {ref: cd://resources/blueprint}
  imports:
    data: [{name: replicas, dataRef: size}]
    targets: [{name: at, target: cluster}]
  exports:
    data: [{name: address, dataRef: dbUrl}, {name: port, dataRef: dbPort}]
    targets: [{name: host, target: dbHost}]
- apiVersion: landscaper.gardener.cloud/v1alpha1
  kind: InstallationTemplate
  name: shop
  blueprint: {ref: cd://resources/blueprint}
  imports:
    data: [{name: url, dataRef: dbUrl}, {name: port, dataRef: dbPort}, {name: else, dataRef: "#somewhere"}]
    targets: [{name: all, targetListRef: sites}, {name: host, target: dbHost}]
subinstallationExecutions:
- name: more
  type: GoTemplate
  template: |
    subinstallations:
    {{- range .imports.names }}
    - name: {{ . }}
      imports: {data: [{name: a, dataRef: "options"}], targets: [{name: b, target: cluster}]}
      exports: {data: [{name: c, dataRef: made}]}
    {{- end }}
deployExecutions:
- {name: web, type: GoTemplate, file: web.yaml}
- {name: all, type: Spiff, template: {deployItems: [{name: rest, config: (( imports ))}]}}
exportExecutions:
- {name: addresses, type: GoTemplate, template: 'exports: {url: {{ .values.deployitems.front.url }}, db: {{ .values.dataobjects.dbUrl }}}'}
- {name: places, type: GoTemplate, template: 'exports: {where: {{ .targets.dbHost }}, other: {{ index .dataobjects "made" }}}'}
exports:
- {name: url, type: data, schema: {type: string}}
- {name: db, type: data, schema: {$ref: "local://address"}}
- {name: where, type: target, targetType: landscaper.gardener.cloud/kubernetes-cluster}
- {name: other, type: data, schema: {}}
localTypes: {address: {type: string}}
`

func TestWhatGoesThroughABlueprint(t *testing.T) {
	parsed, err := blueprint.Parse(blueprint.Files{
		"blueprint.yaml": []byte(woven), "web.yaml": []byte(`deployItems: [{name: front, target: {{ toJson .imports.cluster.metadata }}, size: {{ $.imports.size }}}]`),
	})
	if err != nil {
		t.Fatal(err)
	}
	graph := partsOf("shop", parsed)
	titles := map[string]string{}
	nodes := map[string]view.Node{}
	for _, node := range graph.Nodes {
		titles[node.ID] = node.Title
		nodes[node.Title] = node
	}
	var got []string
	for _, edge := range graph.Edges {
		said := strings.TrimSpace(titles[edge.From] + " > " + titles[edge.To] + " " + edge.Label)
		if edge.Target {
			said += " (target)"
		}
		got = append(got, said)
	}
	want := []string{
		"size > database", "cluster > database (target)", "database > shop dbUrl, dbPort", "database > shop dbHost (target)", "sites > shop (target)",
		"region > defaults", "names > more", "options > more", "cluster > more (target)",
		"size > web", "cluster > web (target)", "web > addresses front", "database > addresses dbUrl", "database > places dbHost (target)",
		"more > places made", "addresses > url", "addresses > db", "places > where (target)", "places > other",
		// All imports, because the template uses them as a whole.
		"cluster > all (target)", "sites > all (target)", "size > all", "names > all", "forgotten > all", "options > all", "region > all",
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("lines:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	for title, want := range map[string][2]string{
		"cluster": {"target", "kubernetes-cluster"}, "sites": {"target", "kubernetes-cluster"}, "size": {"import", "integer"},
		"names": {"import", "list of string"}, "forgotten": {"import", "string or null"}, "region": {"import", "choice"},
		"database": {"installation", "installation"}, "defaults": {"template", "more imports"}, "more": {"template", "installations"},
		"web": {"template", "deploy items"}, "places": {"template", "exports"}, "url": {"export", "string"},
		"db": {"export", "address"}, "where": {"export", "kubernetes-cluster"}, "other": {"export", "data"},
	} {
		if node := nodes[title]; node.Kind != want[0] || node.Detail != want[1] {
			t.Errorf("%s is %s, %q, want %v", title, node.Kind, node.Detail, want)
		}
	}
	left, right := nodes["cluster"].X, nodes["url"].X
	for _, node := range graph.Nodes {
		if isImport := strings.HasPrefix(node.ID, "import/"); isImport != (node.X == left) || (node.Kind == "export") != (node.X == right) {
			t.Errorf("%s stands at %d, imports at %d and exports at %d", node.ID, node.X, left, right)
		}
	}
}
