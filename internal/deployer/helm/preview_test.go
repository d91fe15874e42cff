// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package helm_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	landscaper "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/deployer/helm"
)

func TestAPreviewNeedsNoCluster(t *testing.T) {
	w := &world{t: t, namespace: "garden"}
	preview := func(text string) ([]string, error) {
		w.item = &landscaper.DeployItem{}
		w.configure(text)
		objects, err := helm.Preview(t.Context(), landscaper.DeployItemTemplate{Configuration: w.item.Spec.Configuration})
		var names []string
		for _, object := range objects {
			names = append(names, object.GetKind()+"/"+object.GetName())
		}
		return names, err
	}
	w.use(twoConfigMaps)
	for text, want := range map[string][]string{
		"{helmDeployment: false, createNamespace: true}":                               {"ConfigMap/one", "ConfigMap/two", "Namespace/garden"},
		"helmDeployment: true":                                                         nil,
		"{helmDeployment: false, chart: {archive: null, ref: 'registry.example/x:1'}}": nil,
	} {
		got, err := preview(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", text, diff)
		}
	}
	_, err := preview("name: ''")
	assertFailure(t, err, failed{reason: "InvalidConfiguration", terminal: true, contains: []string{"spec.config.name: is missing"}})
	w.use("\n-- templates/x.yaml --\n{{ fail .Values.word }}\n")
	_, err = preview("values: {word: " + secretValue + "}")
	assertFailure(t, err, failed{reason: "RenderChart", terminal: true, contains: []string{"<masked>"}, without: []string{secretValue}})
}
