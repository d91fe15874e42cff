// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package reference

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	container "espalier.dev/api/deployer/container/v1alpha1"
	helm "espalier.dev/api/deployer/helm/v1alpha1"
	manifest "espalier.dev/api/deployer/manifest/v1alpha2"
	mock "espalier.dev/api/deployer/mock/v1alpha1"
)

var update = flag.Bool("update", false, "rewrite the pages in docs/reference")

var root = filepath.Join("..", "..")

// pages returns everything that this package generates by itself from a tree, by path relative to docs/reference.
func pages(root string) (map[string]string, error) {
	all, err := KindPages(root)
	if err != nil {
		return nil, err
	}
	p, err := readProgram(root)
	if err != nil {
		return nil, err
	}
	onCode := func(page func(*program) (string, error)) func(string) (string, error) {
		return func(string) (string, error) { return page(p) }
	}
	for name, page := range map[string]func(string) (string, error){
		"provider-configuration.md":            Page,
		"metrics.md":                           MetricsPage,
		"annotations.md":                       onCode((*program).metadataPage),
		"conditions.md":                        onCode((*program).conditionsPage),
		"errors.md":                            onCode((*program).errorsPage),
		"events.md":                            onCode((*program).eventsPage),
		"blueprint.md":                         onCode((*program).blueprintPage),
		"../../internal/explain/documented.go": onCode((*program).documentedSource),
	} {
		if all[name], err = page(root); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return all, nil
}

func TestThePagesAreUpToDate(t *testing.T) {
	all, err := pages(root)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range all {
		path := filepath.Join(root, "docs", "reference", filepath.FromSlash(name))
		if *update {
			if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(want), 0o644)); err != nil {
				t.Fatal(err)
			}
		}
		got, err := os.ReadFile(path)
		if err != nil || string(got) != want {
			t.Errorf("%s differs from the code: run go test ./internal/reference -update (%v)", name, err)
		}
	}
}

// Examples of kinds contain nothing that only programs read, such as a packed chart.
func TestExamplesOfKindsAreReadable(t *testing.T) {
	pages, err := KindPages(root)
	if err != nil {
		t.Fatal(err)
	}
	examples := 0
	for name, page := range pages {
		for _, part := range strings.Split(page, "```yaml\n")[1:] {
			example, _, _ := strings.Cut(part, "```")
			examples++
			if packed.MatchString(example) {
				t.Errorf("%s: an example nobody can read:\n%s", name, example)
			}
		}
	}
	if examples < 10 {
		t.Errorf("found only %d examples", examples)
	}
}

// Every link leads to a heading, every heading is unique, and every field has a description.
func TestThePageIsComplete(t *testing.T) {
	page, err := Page(root)
	if err != nil {
		t.Fatal(err)
	}
	headings := map[string]int{}
	for _, heading := range regexp.MustCompile(`(?m)^### (.+)$`).FindAllStringSubmatch(page, -1) {
		headings[strings.ToLower(heading[1])]++
	}
	for _, link := range regexp.MustCompile(`\]\(#([^)]+)\)`).FindAllStringSubmatch(page, -1) {
		if headings[link[1]] != 1 {
			t.Errorf("%d headings for %s", headings[link[1]], link[1])
		}
	}
	for line := range strings.SplitSeq(page, "\n") {
		if strings.HasSuffix(line, "|  |") {
			t.Errorf("a field without a comment: %s", line)
		}
	}
	for _, wanted := range []string{
		"| `name` | string | yes | name of the release",
		"| `resourceRef` | string |",
		"| `policy` | `manage`, `fallback`, `keep`, `immutable`, `ignore` |",
		"| `manifests` | list of [Manifest](#manifest) |",
	} {
		if !strings.Contains(page, wanted) {
			t.Errorf("the page lacks %s", wanted)
		}
	}
}

// The types accept the example of each deployer, without unknown fields. Deployers also check what types cannot express.
func TestExamplesOfConfigurationsMatchTheTypes(t *testing.T) {
	page, err := Page(root)
	if err != nil {
		t.Fatal(err)
	}
	types := map[string]any{
		"manifest": &manifest.ProviderConfiguration{}, "helm": &helm.ProviderConfiguration{},
		"container": &container.ProviderConfiguration{}, "mock": &mock.ProviderConfiguration{},
	}
	for _, block := range yamlBlock.FindAllStringSubmatch(page, -1) {
		of, _, _ := strings.Cut(strings.TrimPrefix(block[1], "apiVersion: "), ".")
		if types[of] == nil {
			t.Fatalf("there is no deployer %s, or it has two examples", of)
		}
		if err := yaml.UnmarshalStrict([]byte(block[1]), types[of]); err != nil {
			t.Errorf("the example of the deployer %s: %v", of, err)
		}
		delete(types, of)
	}
	for of := range types {
		t.Errorf("the deployer %s has no example", of)
	}
}

func TestAMissingTreeIsAnError(t *testing.T) {
	if _, err := readProgram(t.TempDir()); err == nil {
		t.Error("a tree without code was read")
	}
	for _, page := range []func(string) (string, error){Page, MetricsPage} {
		if text, err := page(t.TempDir()); err == nil {
			t.Errorf("got %d bytes", len(text))
		}
	}
}
