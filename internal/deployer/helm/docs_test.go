// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"
)

func TestTheExamplesOfTheManualAreAccepted(t *testing.T) {
	examples := append(examplesOf(t, "deployers/helm.md"), examplesOf(t, "how-to/charts.md")...)
	if len(examples) != 4 {
		t.Errorf("found %d examples", len(examples))
	}
	for _, example := range examples {
		config := map[string]any{
			"apiVersion": "helm.deployer.landscaper.gardener.cloud/v1alpha1", "kind": "ProviderConfiguration", "name": "shop", "namespace": "garden",
		}
		if err := yaml.Unmarshal(example, &config); err != nil {
			t.Fatal(err)
		}
		raw, err := json.Marshal(config)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := parse(&runtime.RawExtension{Raw: raw}); err != nil {
			t.Errorf("%s: %v", example, err)
		}
	}
}

// examplesOf returns the configurations on a page, including those that omit the common part.
func examplesOf(t *testing.T, page string) [][]byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", page))
	if err != nil {
		t.Fatal(err)
	}
	var examples [][]byte
	for _, example := range regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllSubmatch(text, -1) {
		if bytes.HasPrefix(example[1], []byte("chart:")) || bytes.Contains(example[1], []byte("\nkind: ProviderConfiguration")) {
			examples = append(examples, example[1])
		}
	}
	return examples
}
