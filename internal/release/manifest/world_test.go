// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"bytes"
	"maps"
	"os"
	"testing"
	"time"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	chartloader "helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/engine"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"espalier.dev/internal/deployer/objects/documents"
	"espalier.dev/internal/release/bundle"
	"espalier.dev/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

const (
	chartFolder = "../../../charts/espalier"
	system      = "espalier-system"
	version     = "v1.2.3"
	// everything is one of our overlays, with all components.
	everything = "everything"
)

var at = time.Unix(1_800_000_000, 0)

// kustomizations returns those of the sources, and one with all components.
func kustomizations(t *testing.T) []bundle.File {
	t.Helper()
	files, err := Kustomizations(os.DirFS("../../../config"), version)
	if err != nil {
		t.Fatal(err)
	}
	overlay := `resources: [../default]
components:
- ../components/ha
- ../components/network-policies
- ../components/monitoring
- ../components/alerts
- ../components/dashboard
- ../components/ui
- ../components/tenancy
`
	return append(files, bundle.File{Name: everything + "/kustomization.yaml", Content: []byte(overlay)})
}

func built(t *testing.T, folder string) []*unstructured.Unstructured {
	t.Helper()
	text, err := Build(kustomizations(t), folder)
	if err != nil {
		t.Fatal(err)
	}
	return split(t, string(text))
}

func split(t *testing.T, text string) []*unstructured.Unstructured {
	t.Helper()
	objects, err := documents.Split(text)
	if err != nil {
		t.Fatal(err)
	}
	return objects
}

func packedChart(t *testing.T) []byte {
	t.Helper()
	packed, err := Chart(chartFolder, Versions{Chart: "1.2.3", App: version}, at)
	if err != nil {
		t.Fatal(err)
	}
	return packed
}

func loadedChart(t *testing.T) *chart.Chart {
	t.Helper()
	loaded, err := chartloader.LoadArchive(bytes.NewReader(packedChart(t)))
	if err != nil {
		t.Fatal(err)
	}
	return loaded
}

// parsed parses values as Helm reads them from a file.
func parsed(t *testing.T, text string) map[string]any {
	t.Helper()
	values := map[string]any{}
	if err := yaml.UnmarshalStrict([]byte(text), &values); err != nil {
		t.Fatal(err)
	}
	return values
}

// renderWith renders the packed chart with Helm's library, which validates the values against their schema.
func renderWith(t *testing.T, values string) (map[string]string, error) {
	t.Helper()
	loaded := loadedChart(t)
	release := common.ReleaseOptions{Name: "espalier", Namespace: system, Revision: 1, IsInstall: true}
	all, err := util.ToRenderValues(loaded, parsed(t, values), release, common.DefaultCapabilities)
	if err != nil {
		return nil, err
	}
	texts, err := engine.Render(loaded, all)
	maps.DeleteFunc(texts, func(name, _ string) bool { return name == "espalier/templates/NOTES.txt" })
	return texts, err
}

func rendered(t *testing.T, values string) []*unstructured.Unstructured {
	t.Helper()
	texts, err := renderWith(t, values)
	if err != nil {
		t.Fatal(err)
	}
	var objects []*unstructured.Unstructured
	for _, text := range texts {
		objects = append(objects, split(t, text)...)
	}
	return objects
}

// key identifies an object.
func key(object *unstructured.Unstructured) string {
	return object.GetKind() + " " + object.GetNamespace() + "/" + object.GetName()
}

func byKey(t *testing.T, objects []*unstructured.Unstructured) map[string]*unstructured.Unstructured {
	t.Helper()
	found := map[string]*unstructured.Unstructured{}
	for _, object := range objects {
		if found[key(object)] != nil {
			t.Errorf("%s is there twice", key(object))
		}
		found[key(object)] = object
	}
	return found
}
