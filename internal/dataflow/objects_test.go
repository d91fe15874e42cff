// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package dataflow_test

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/dataflow"
	"espalier.dev/internal/failure"
)

var app = dataflow.Owner{Namespace: namespace, Name: "app", UID: "uid-1", JobID: job}

const ownedByApp = `ownerReferences: [{apiVersion: landscaper.gardener.cloud/v1alpha1, kind: Installation, name: app, uid: uid-1}]`

func TestContextObjectsOfImports(t *testing.T) {
	imports, err := construct(
		t,
		`[{name: config, type: data}, {name: one, type: target}, {name: list, type: targetList}, {name: map, type: targetMap}]`,
		`{config: {url: a<b}}`,
	)
	if err != nil {
		t.Fatal(err)
	}
	objects, err := imports.Objects(app)
	if err != nil {
		t.Fatal(err)
	}
	labels := func(key, more string) string {
		const prefix = "data.landscaper.gardener.cloud/"
		return `{` + prefix + `context: Inst.app, ` + prefix + `source: Inst.app, ` + prefix + `sourceType: import, ` + prefix + `jobid: job-2, ` + prefix + `key: ` + key + more + `}`
	}
	// The hashes are the sha1sum of the indented JSON of the data, and of the config as it is written.
	expectYAML(t, "data objects", objects.DataObjects, `
- apiVersion: landscaper.gardener.cloud/v1alpha1
  kind: DataObject
  metadata:
    name: `+hashed("Inst.app/config")+`
    namespace: garden
    labels: `+labels("config", "")+`
    annotations: {data.landscaper.gardener.cloud/hash: ea4364135a8fbd9c1b281e656caa69fa130cf9af}
    `+ownedByApp+`
  data: {url: a<b}
`)
	target := func(reference, key, more, origin, hash string) string {
		return `
- apiVersion: landscaper.gardener.cloud/v1alpha1
  kind: Target
  metadata:
    name: ` + hashed("Inst.app/"+reference) + `
    namespace: garden
    labels: ` + labels(key, more) + `
    annotations: {data.landscaper.gardener.cloud/hash: ` + hash + `}
    ` + ownedByApp + `
  spec: {type: ` + clusterType + `, config: {kubeconfig: of ` + origin + `}}`
	}
	const eu, us = "201519f89145f4081322b2be906adc705f418d5d", "d0b449d15ed524168646c69f3ed6830206d951f3"
	expectYAML(t, "targets", objects.Targets,
		target("one", "one", "", "eu", eu)+
			target("list[0]", "list", `, data.landscaper.gardener.cloud/index: "0"`, "eu", eu)+
			target("list[1]", "list", `, data.landscaper.gardener.cloud/index: "1"`, "us", us)+
			target("map[e]", "map", `, data.landscaper.gardener.cloud/targetmapkey: e`, "eu", eu)+
			target("map[u]", "map", `, data.landscaper.gardener.cloud/targetmapkey: u`, "us", us))
}

// TestNestedInstallationsFindTheObjectsOfTheirParent connects the two ends: what one writes, the other reads.
func TestNestedInstallationsFindTheObjectsOfTheirParent(t *testing.T) {
	imports, err := construct(
		t,
		`[{name: text, type: data}, {name: one, type: target}, {name: list, type: targetList}, {name: map, type: targetMap}]`,
		``,
	)
	if err != nil {
		t.Fatal(err)
	}
	objects, err := imports.Objects(app)
	if err != nil {
		t.Fatal(err)
	}
	resolved := resolve(t, dataflow.Scope{Namespace: namespace, Parent: "app", JobID: job}, `
data: [{name: t, dataRef: text}]
targets:
- {name: o, target: one}
- {name: l, targetListRef: list}
- {name: m, targetMapRef: map}
- {name: second, target: "list[1]"}
- {name: by-key, targetMap: {k: "map[u]"}}
`, dataflow.Facts{DataObjects: objects.DataObjects, Targets: objects.Targets})
	for name, want := range map[string]string{"o": "eu", "l": "eu us", "m": "e=eu u=us", "second": "us", "by-key": "k=us"} {
		if got := names(resolved[name].Targets); got != want {
			t.Errorf("%s = %q, want %q", name, got, want)
		}
	}
	expectYAML(t, "text", resolved["t"].Data, "hello")
}

func TestImportExecutionsAddToWhatIsStored(t *testing.T) {
	imports, err := construct(t, `[{name: text, type: data}]`, ``)
	if err != nil {
		t.Fatal(err)
	}
	imports.Values["text"] = "changed"
	imports.Values["computed"] = "only for templates"
	objects, err := imports.Objects(app)
	if err != nil || len(objects.DataObjects) != 1 {
		t.Fatalf("objects = %v, %v", objects, err)
	}
	expectYAML(t, "data", objects.DataObjects[0].Data, "changed")
}

func TestCopiesOfTargetsKeepTheirMetadata(t *testing.T) {
	original := labelled(cluster(t, "eu"), "context", "Inst.other", "index", "7", "targetmapkey", "k", "jobid", "old", "source", "Inst.other")
	original.Labels["region"] = "eu"
	original.Annotations = map[string]string{
		"note": "mine", "kubectl.kubernetes.io/last-applied-configuration": "{}", "data.landscaper.gardener.cloud/hash": "old",
	}
	original.OwnerReferences = []metav1.OwnerReference{{Kind: "Installation", Name: "other"}}
	original.Finalizers = []string{"x"}
	for kind, source := range map[string]string{"target": `target: eu`, "targetList": `targets: [eu]`, "targetMap": `targetMap: {k: eu}`} {
		imports, err := dataflow.Construct(dataflow.ImportInput{
			Definitions: definitions(t, `[{name: x, type: `+kind+`}]`),
			Resolved:    resolve(t, root, `targets: [{name: x, `+source+`}]`, dataflow.Facts{Targets: []*lsv1alpha1.Target{original}}),
		})
		if err != nil {
			t.Fatal(err)
		}
		continuous := app
		continuous.JobID = ""
		objects, err := imports.Objects(continuous)
		if err != nil {
			t.Fatal(err)
		}
		copied := objects.Targets[0]
		if copied.Labels["region"] != "eu" || copied.Annotations["note"] != "mine" || len(copied.Annotations) != 2 {
			t.Errorf("%s: labels %v, annotations %v", kind, copied.Labels, copied.Annotations)
		}
		for label, want := range map[string]bool{"index": kind == "targetList", "targetmapkey": kind == "targetMap", "jobid": false} {
			if _, ok := copied.Labels["data.landscaper.gardener.cloud/"+label]; ok != want {
				t.Errorf("%s: label %s is there: %t", kind, label, ok)
			}
		}
		if copied.Finalizers != nil || copied.OwnerReferences[0].Name != "app" ||
			copied.Labels[lsv1alpha1.DataObjectContextLabel] != "Inst.app" {
			t.Errorf("%s: metadata %+v", kind, copied.ObjectMeta)
		}
	}
	if original.Labels["data.landscaper.gardener.cloud/index"] != "7" {
		t.Error("the original was changed")
	}
}

func TestNamesThatCannotBeStored(t *testing.T) {
	for name, want := range map[string]string{
		"#config":               `blueprint import "#config" cannot be stored: a name must not start with #`,
		"my config":             `blueprint import "my config" cannot be stored under its name: it becomes a label`,
		strings.Repeat("x", 64): `cannot be stored under its name: it becomes a label: use at most 63 letters`,
		"x[0]":                  `blueprint import "x[0]" cannot be stored under its name: it becomes a label`,
	} {
		imports, err := construct(t, `[{name: "`+name+`", type: data}]`, `{"`+name+`": 1}`)
		if err != nil {
			t.Fatal(err)
		}
		_, err = imports.Objects(app)
		expectError(t, err, failure.Terminal, want)
	}
}

func TestExecutionExport(t *testing.T) {
	object, err := dataflow.ExecutionExport(dataflow.Owner{
		Namespace: namespace,
		Name:      "app",
		UID:       "uid-2",
		JobID:     job,
	}, map[string]any{"item": map[string]any{"url": "x"}})
	if err != nil {
		t.Fatal(err)
	}
	expectYAML(t, "object", object, `
apiVersion: landscaper.gardener.cloud/v1alpha1
kind: DataObject
metadata:
  name: `+dataflow.ExecutionExportName("app")+`
  namespace: garden
  labels: {data.landscaper.gardener.cloud/context: Exec.app, data.landscaper.gardener.cloud/source: Exec.app}
  annotations: {data.landscaper.gardener.cloud/hash: 6cdf7998c17a4748c42f8d7e8b12547277a51c3b}
  ownerReferences: [{apiVersion: landscaper.gardener.cloud/v1alpha1, kind: Execution, name: app, uid: uid-2}]
data: {item: {url: x}}
`)
}

func TestTargetsAreSeenWithoutWhatChangesByItself(t *testing.T) {
	target := cluster(t, "eu")
	target.ResourceVersion = "17"
	target.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "x"}}
	target.UID = "u"
	value := asJSON(t, dataflow.Target{Target: target}.Value())
	for _, part := range []string{"resourceVersion", "managedFields"} {
		if strings.Contains(value, part) {
			t.Errorf("%s shows in %s", part, value)
		}
	}
	if !strings.Contains(value, `"uid":"u"`) || target.ResourceVersion != "17" {
		t.Errorf("value %s, version %s", value, target.ResourceVersion)
	}
}
