// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/oci"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/components"
	"espalier.dev/internal/testkit/helmcharts"
	"espalier.dev/internal/testkit/registry"
)

const registryPassword = "the-w0rd-of-the-registry"

// chartsBlueprint deploys three charts: a local resource of the component, one that is an artifact, and the artifact again by its
// reference.
const chartsBlueprint = `
apiVersion: landscaper.gardener.cloud/v1alpha1
kind: Blueprint
imports:
- {name: cluster, type: target, targetType: landscaper.gardener.cloud/kubernetes-cluster}
deployExecutions:
- name: default
  type: GoTemplate
  template: |
    {{- $artifact := getResource .cd "name" "artifact" }}
    deployItems:
    {{- range $name, $chart := dict
      "local" (dict "resourceRef" (getResourceKey "cd://resources/local"))
      "artifact" (dict "resourceRef" (getResourceKey "cd://resources/artifact"))
      "reference" (dict "ref" $artifact.access.imageReference) }}
    - name: {{ $name }}
      type: landscaper.gardener.cloud/helm
      target: {import: cluster}
      config:
        apiVersion: helm.deployer.landscaper.gardener.cloud/v1alpha1
        kind: ProviderConfiguration
        name: {{ $name }}
        namespace: NAMESPACE
        chart: {{ toJson $chart }}
        values: {from: {{ $name }}}
        exports: {exports: [{key: word, fromResource: {apiVersion: v1, kind: ConfigMap, name: {{ $name }}, namespace: NAMESPACE}, jsonPath: .data.word}]}
    {{- end }}
exports: [{name: word, type: data, schema: {type: string}}]
exportExecutions:
- name: default
  type: GoTemplate
  template: |
    exports: {word: {{ (index .values.deployitems "artifact").word }}}
`

// wordChart writes its version and a value into a ConfigMap.
func wordChart(t *testing.T, version string) []byte {
	t.Helper()
	return helmcharts.Pack(t, map[string]string{
		"Chart.yaml": "apiVersion: v2\nname: word\nversion: " + version + "\n",
		"templates/word.yaml": `apiVersion: v1
kind: ConfigMap
metadata: {name: "{{ .Release.Name }}"}
data: {word: "{{ .Chart.Version }} {{ .Values.from }}"}
`,
	})
}

// stocked starts a private registry and stores the Context shelf, which refers to it.
func (w *world) stocked() helmcharts.Shelf {
	w.Helper()
	shelf := helmcharts.Shelf{Username: "robot", Password: registryPassword}
	shelf.Registry = registry.Start(w.T, registry.Options{TLS: true, Username: shelf.Username, Password: shelf.Password})
	host, port, _ := strings.Cut(shelf.Host, ":")
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "pull"},
		StringData: map[string]string{".ocmcredentialconfig": fmt.Sprintf(`{type: credentials.config.ocm.software, consumers: [{
			identity: {type: OCIRegistry, hostname: %q, port: %q},
			credentials: [{type: Credentials, properties: {username: robot, password: %s, certificateAuthority: %q}}]}]}`,
			host, port, registryPassword, shelf.CA)},
	}
	scope := &lsv1alpha1.Context{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "shelf"}}
	scope.RepositoryContext = &lsv1alpha1.AnyJSON{Raw: fmt.Appendf(nil, `{"type":"ociRegistry","baseUrl":%q}`, shelf.URL)}
	scope.RegistryPullSecrets = []lsv1alpha1.LocalObjectReference{{Name: "pull"}}
	testkit.Create(w.T, w.APIServer, secret, scope)
	return shelf
}

// release pushes a version of the component with its charts.
func (w *world) release(shelf helmcharts.Shelf, version string) {
	w.Helper()
	shelf.Push(w.T, "charts/word:"+version, wordChart(w.T, version))
	components.Component{Name: "example.com/word", Version: version, Resources: []components.Resource{
		components.Blueprint(w.T, "blueprint", map[string]string{"blueprint.yaml": strings.ReplaceAll(chartsBlueprint, "NAMESPACE", w.Namespace)}),
		{Name: "local", Type: "helmChart", MediaType: "application/vnd.cncf.helm.chart.content.v1.tar+gzip", Content: wordChart(w.T, version)},
		{Name: "artifact", Type: "helmChart", Access: map[string]any{
			"type": "ociArtifact", "imageReference": shelf.Host + "/charts/word:" + version,
		}},
	}}.Push(w.T, components.Store(w.T, shelf.Registry, oci.Credential{Username: shelf.Username, Password: shelf.Password}))
}

// words returns the ConfigMaps of the charts, and releases the revisions in Helm's records, by name and state.
func (w *world) words() map[string]string {
	w.Helper()
	words := map[string]string{}
	for _, name := range []string{"artifact", "local", "reference"} {
		object := w.configMap(name)
		if w.Read(object) {
			words[name] = object.Data["word"]
		}
	}
	return words
}

func (w *world) releases() []string {
	w.Helper()
	var list corev1.SecretList
	if err := w.Client().List(w.Context(), &list, client.InNamespace(w.Namespace), client.MatchingLabels{"owner": "helm"}); err != nil {
		w.Fatal(err)
	}
	releases := []string{}
	for i := range list.Items {
		labels := list.Items[i].Labels
		releases = append(releases, labels["name"]+" "+labels["version"]+" "+labels["status"])
	}
	slices.Sort(releases)
	return releases
}

// From a component in a private registry to releases in the target: installed, upgraded and uninstalled.
func TestCase_ChartsOfAComponentInAPrivateRegistry(t *testing.T) {
	w := newWorld(t)
	shelf := w.stocked()
	w.release(shelf, "1.0.0")
	w.create(clusterTarget)
	inst := testkit.Installation(w.Namespace, "app").BlueprintRef("blueprint").Component("example.com/word", "1.0.0").
		Context("shelf").ImportTarget("cluster", "cluster").ExportData("word", "word").Reconcile().Build()
	testkit.Create(t, w.APIServer, inst)
	w.finished("app", lsv1alpha1.PhaseSucceeded)
	if diff := cmp.Diff(map[string]string{
		"artifact":  "1.0.0 artifact",
		"local":     "1.0.0 local",
		"reference": "1.0.0 reference",
	}, w.words()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"artifact 1 deployed", "local 1 deployed", "reference 1 deployed"}, w.releases()); diff != "" {
		t.Error(diff)
	}
	if word := w.data("word"); word != `"1.0.0 artifact"` {
		t.Errorf("exported %s", word)
	}

	w.release(shelf, "2.0.0")
	w.Patch(w.installation("app"), `{"spec":{"componentDescriptor":{"ref":{"version":"2.0.0"}}}}`)
	w.rerun("app", lsv1alpha1.PhaseSucceeded)
	if diff := cmp.Diff(map[string]string{
		"artifact":  "2.0.0 artifact",
		"local":     "2.0.0 local",
		"reference": "2.0.0 reference",
	}, w.words()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{
		"artifact 1 superseded", "artifact 2 deployed", "local 1 superseded", "local 2 deployed", "reference 1 superseded", "reference 2 deployed",
	}, w.releases()); diff != "" {
		t.Error(diff)
	}

	w.removed("app")
	if left := append(w.releases(), fmt.Sprint(w.words())); !slices.Equal(left, []string{"map[]"}) {
		t.Errorf("left are %v", left)
	}
}
