// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package crd_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"espalier.dev/internal/testkit"
)

// TestColumns asks for what kubectl get -o wide shows. A column with a priority is marked; kubectl get leaves it out.
func TestColumns(t *testing.T) {
	server := testkit.Server(t)
	namespace := server.Namespace(t)
	for _, object := range objects(t, filepath.Join("testdata", "columns.yaml")) {
		status := object.Object["status"]
		object.SetNamespace(namespace)
		if err := server.Client().Create(t.Context(), object, strict); err != nil {
			t.Fatal(err)
		}
		if status != nil {
			object.Object["status"] = status
			if err := server.Client().Status().Update(t.Context(), object, strict); err != nil {
				t.Fatal(err)
			}
		}
	}
	tests := map[string]string{
		"landscaper.gardener.cloud/v1alpha1 installations": "Name=orchard Phase=Progressing Execution=orchard-exec Ready=False Message=waits for water",
		"landscaper.gardener.cloud/v1alpha1 executions":    "Name=orchard Phase=Failed ExportRef=orchard-export Ready=False Message=trees failed",
		"landscaper.gardener.cloud/v1alpha1 deployitems":   "Name=orchard-trees Type=example.com/t Phase=Succeeded ExportRef=trees-export Ready=True Message=done",
		"landscaper.gardener.cloud/v1alpha1 targets":       "Name=north Type=example.com/t Context=Inst.orchard Key=clusters Idx=1 TMKey=north",
		"landscaper.gardener.cloud/v1alpha1 dataobjects":   "Name=rows Context=Inst.orchard Key=rows (Source)=Inst.water",
		"landscaper.gardener.cloud/v1alpha1 targetsyncs":   "Name=sync Source=clusters (Errors)=no access Ready=False Message=no access",
		"espalier.dev/v1alpha1 referencegrants":            "Name=shop From Kind=Pipeline From Namespace=delivery To Kind=HelmRelease To Name=shop",
		"pipelines.weave.works/v1alpha1 pipelines":         "Name=cider App Kind=HelmRelease App Name=cider Ready=True Message=All clusters checked (Revision)=1.2.3 (Waiting)=Soaking (Suspended)=true",
	}
	for resource, want := range tests {
		t.Run(resource, func(t *testing.T) {
			version, plural, _ := strings.Cut(resource, " ")
			if got := row(t, server, fmt.Sprintf("/apis/%s/namespaces/%s/%s", version, namespace, plural)); got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
		})
	}
}

// row returns the columns of the only object in a list, without those that show an age.
func row(t *testing.T, server *testkit.APIServer, path string) string {
	t.Helper()
	table := tableOf(t, server, path)
	if len(table.Rows) != 1 {
		t.Fatalf("got %d rows", len(table.Rows))
	}
	var cells []string
	for i, column := range table.ColumnDefinitions {
		if column.Type == "date" || slices.Contains([]string{"Age", "Updated"}, column.Name) {
			continue
		}
		name := column.Name
		if column.Priority > 0 {
			name = "(" + name + ")"
		}
		cells = append(cells, fmt.Sprintf("%s=%v", name, table.Rows[0].Cells[i]))
	}
	return strings.Join(cells, " ")
}

func tableOf(t *testing.T, server *testkit.APIServer, path string) metav1.Table {
	t.Helper()
	config := server.Config()
	config.GroupVersion, config.NegotiatedSerializer = &metav1.SchemeGroupVersion, scheme.Codecs.WithoutConversion()
	raw, err := rest.UnversionedRESTClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	text, err := raw.Get().AbsPath(path).SetHeader("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io").DoRaw(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var table metav1.Table
	if err := json.Unmarshal(text, &table); err != nil {
		t.Fatal(err)
	}
	return table
}
