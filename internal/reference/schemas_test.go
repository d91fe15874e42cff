// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package reference

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	landscaper "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/config/crd"
	"espalier.dev/internal/blueprint"
)

var schemaFolder = filepath.Join(root, "schemas")

func TestTheSchemasAreUpToDate(t *testing.T) {
	want, err := Schemas(root)
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.RemoveAll(schemaFolder); err != nil {
			t.Fatal(err)
		}
		for name, content := range want {
			place := filepath.Join(schemaFolder, filepath.FromSlash(name))
			if err := errors.Join(os.MkdirAll(filepath.Dir(place), 0o755), os.WriteFile(place, content, 0o644)); err != nil {
				t.Fatal(err)
			}
		}
	}
	got := map[string][]byte{}
	err = fs.WalkDir(os.DirFS(schemaFolder), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		got[name], err = os.ReadFile(filepath.Join(schemaFolder, filepath.FromSlash(name)))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for name := range got {
		if want[name] == nil {
			t.Errorf("schemas/%s belongs to no kind: remove it, or run make generate", name)
		}
	}
	for name, content := range want {
		if !bytes.Equal(got[name], content) {
			t.Errorf("schemas/%s differs from the code: run make generate", name)
		}
	}
}

// editor validates documents as an editor does.
type editor struct {
	*testing.T
	compiler *jsonschema.Compiler
	// checked counts the documents of each kind.
	checked map[string]int
}

// newEditor loads the schemas in the tree.
func newEditor(t *testing.T) editor {
	t.Helper()
	return editor{t, jsonschema.NewCompiler(), map[string]int{}}
}

// complaint returns the error of a schema about a document.
func (e editor) complaint(name string, document any) error {
	e.Helper()
	compiled, err := e.compiler.Compile(filepath.ToSlash(filepath.Join(schemaFolder, filepath.FromSlash(name))))
	if err != nil {
		e.Fatal(err)
	}
	return compiled.Validate(document)
}

func (e editor) parse(text string) map[string]any {
	e.Helper()
	var document map[string]any
	if err := yaml.Unmarshal([]byte(text), &document); err != nil {
		e.Fatalf("%v in:\n%s", err, text)
	}
	return document
}

// read checks all documents of a file.
func (e editor) read(file string) {
	e.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		e.Fatal(err)
	}
	decoder := utilyaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), len(text))
	for {
		var document map[string]any
		if err := decoder.Decode(&document); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			e.Fatalf("%s: %v", file, err)
		}
		if len(document) > 0 {
			e.accept(file, document)
		}
	}
}

// accept checks a document against the schema of its kind and the one for all kinds, and the blueprints in it.
func (e editor) accept(where string, document map[string]any) {
	e.Helper()
	if err := e.complaint("espalier.json", document); err != nil {
		e.Errorf("%s: %v", where, err)
	}
	kind, _ := document["kind"].(string)
	apiVersion, _ := document["apiVersion"].(string)
	if own := (kindSchema{apiVersion: apiVersion, kind: kind}).path(); exists(own) {
		e.checked[kind]++
		if err := e.complaint(own, document); err != nil {
			e.Errorf("%s: %v", where, err)
		}
	}
	e.filesystems(where, document)
}

func exists(name string) bool {
	_, err := os.Stat(filepath.Join(schemaFolder, filepath.FromSlash(name)))
	return err == nil
}

// filesystems checks the files of blueprints anywhere in a value.
func (e editor) filesystems(where string, value any) {
	e.Helper()
	switch value := value.(type) {
	case map[string]any:
		for key, inner := range value {
			if files, isFolder := inner.(map[string]any); isFolder && key == "filesystem" {
				e.files(where, files)
			}
			e.filesystems(where, inner)
		}
	case []any:
		for _, inner := range value {
			e.filesystems(where, inner)
		}
	}
}

func (e editor) files(where string, files map[string]any) {
	e.Helper()
	for name, content := range files {
		text, _ := content.(string)
		switch {
		case name == landscaper.BlueprintFileName:
			document := e.parse(text)
			document["apiVersion"], document["kind"] = blueprintAPIVersion, "Blueprint"
			e.accept(path.Join(where, name), document)
		case strings.Contains(text, "kind: InstallationTemplate"):
			e.accept(path.Join(where, name), e.parse(text))
		}
	}
}

// Editors accept whatever the API server accepts and whatever runs.
func TestExamplesAndSamplesMatchTheSchemas(t *testing.T) {
	e := newEditor(t)
	for _, pattern := range []string{"examples/*/*.yaml", "examples/*/manifests/*.yaml", "config/samples/*.yaml", "config/crd/testdata/accepted/*.yaml"} {
		files, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(pattern)))
		if err != nil || len(files) == 0 {
			t.Fatalf("%d files match %s: %v", len(files), pattern, err)
		}
		for _, file := range files {
			e.read(file)
		}
	}
	definitions, err := crd.All()
	if err != nil {
		t.Fatal(err)
	}
	kinds := []string{"Blueprint", "InstallationTemplate"}
	for _, d := range definitions {
		kinds = append(kinds, d.Spec.Names.Kind)
	}
	for _, kind := range kinds {
		if e.checked[kind] == 0 {
			t.Errorf("no document of kind %s was checked", kind)
		}
	}
}

// Editors accept the objects that pages show. Fragments, which lack a kind, are left out.
func TestObjectsInPagesMatchTheSchemas(t *testing.T) {
	e := newEditor(t)
	err := filepath.WalkDir(filepath.Join(root, "docs"), func(place string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || path.Ext(place) != ".md" {
			return err
		}
		page, err := os.ReadFile(place)
		for _, block := range yamlBlock.FindAllStringSubmatch(string(page), -1) {
			for _, text := range strings.Split("\n"+block[1], "\n---\n") {
				if documentKind.MatchString(text) && strings.Contains(text, "\nmetadata:") {
					e.accept(place, e.parse(text))
				}
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{"Installation", "Pipeline", "ReferenceGrant", "Target", "Context"} {
		if e.checked[kind] == 0 {
			t.Errorf("no page shows a %s", kind)
		}
	}
}

// Schemas named in the documentation exist.
func TestThePageAboutEditorsNamesSchemasThatExist(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, "docs", "how-to", "editors.md"))
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile(`schemas/([a-z0-9._/-]+\.json)`).FindAllStringSubmatch(string(page), -1)
	for _, match := range named {
		if !exists(match[1]) {
			t.Errorf("there is no schema %s", match[1])
		}
	}
	if len(named) < 5 {
		t.Errorf("the page names %d schemas", len(named))
	}
}

const goodInstallation = `
apiVersion: landscaper.gardener.cloud/v1alpha1
kind: Installation
metadata: {name: shop, namespace: shops}
spec:
  imports:
    data: [{name: version, dataRef: version}]
  blueprint:
    ref: {resourceName: blueprint}
`

func TestMistakesInObjectsAreFound(t *testing.T) {
	e := newEditor(t)
	if err := e.complaint("espalier.json", e.parse(goodInstallation)); err != nil {
		t.Fatalf("nothing is wrong, yet: %v", err)
	}
	mistakes := map[string][2]string{
		"a field that does not exist":       {"  imports:", "  import:"},
		"one further down":                  {"dataRef", "dataReference"},
		"one of the metadata":               {"namespace: shops", "nameSpace: shops"},
		"a text where a list belongs":       {"[{name: version, dataRef: version}]", "version"},
		"no name":                           {"name: version, ", ""},
		"a kind that does not exist":        {"kind: Installation", "kind: Instalation"},
		"no kind":                           {"kind: Installation\n", ""},
		"no metadata":                       {"metadata: {name: shop, namespace: shops}\n", ""},
		"a value that is none of those":     {"spec:\n", "spec:\n  flow: Sometimes\n"},
		"a number where a text belongs":     {"dataRef: version", "dataRef: 1"},
		"a name of an import that is empty": {"name: version,", `name: "",`},
		"an import from nowhere":            {", dataRef: version", ""},
		"an import from two places":         {"dataRef: version", "dataRef: version, secretRef: {name: version}"},
		"two blueprints":                    {"    ref:", "    oci: {reference: example.com/shop:1}\n    ref:"},
	}
	for name, mistake := range mistakes {
		text := strings.Replace(goodInstallation, mistake[0], mistake[1], 1)
		if text == goodInstallation {
			t.Errorf("%s: nothing was changed", name)
		}
		if e.complaint("espalier.json", e.parse(text)) == nil {
			t.Errorf("%s is not found", name)
		}
	}
	others := []string{"{apiVersion: v1, kind: Namespace, nonsense: true}", "{a: 1}", "{kind: Installation, apiVersion: example.com/v1, b: 1}"}
	for _, other := range others {
		if err := e.complaint("espalier.json", e.parse(other)); err != nil {
			t.Errorf("%s is not ours: %v", other, err)
		}
	}
}

const goodBlueprint = `
imports:
- {name: whom, type: data, schema: {type: string}}
- {name: cluster, targetType: landscaper.gardener.cloud/kubernetes-cluster}
exports:
- {name: text, schema: {type: string}}
subinstallations:
- {file: /mail.yaml}
- {name: web, blueprint: {ref: cd://resources/web}, imports: {data: [{name: a, dataRef: b}]}}
deployExecutions:
- {name: all, type: GoTemplate, template: "deployItems: []"}
`

// Editors and the controllers agree about blueprints.
func TestMistakesInBlueprintsAreFound(t *testing.T) {
	e := newEditor(t)
	schemaName := kindSchema{apiVersion: blueprintAPIVersion, kind: "Blueprint"}.path()
	files := blueprint.Files{"mail.yaml": []byte("{name: mail, blueprint: {ref: cd://resources/mail}}")}
	judge := func(text string) (editors, controllers error) {
		mine := blueprint.Files{landscaper.BlueprintFileName: []byte(text), "mail.yaml": files["mail.yaml"]}
		_, controllers = blueprint.Parse(mine)
		return e.complaint(schemaName, e.parse(text)), controllers
	}
	if editors, controllers := judge(goodBlueprint); editors != nil || controllers != nil {
		t.Fatalf("nothing is wrong, yet editors say: %v; and controllers: %v", editors, controllers)
	}
	mistakes := map[string][2]string{
		"a field that does not exist":          {"exports:", "export:"},
		"another kind":                         {"\nimports:", "\nkind: Installation\nimports:"},
		"a template language that is none":     {"GoTemplate", "Jinja"},
		"no template language":                 {"type: GoTemplate, ", ""},
		"neither template nor file":            {`, template: "deployItems: []"`, ""},
		"template and file":                    {"type: GoTemplate", "type: GoTemplate, file: /a.yaml"},
		"an import without name":               {"name: whom, ", ""},
		"an import with an empty name":         {"name: whom", `name: ""`},
		"an import that says nothing":          {", targetType: landscaper.gardener.cloud/kubernetes-cluster", ""},
		"data with the type of a target":       {"type: data, schema: {type: string}", "type: data, targetType: a/b"},
		"a target with a schema":               {"type: data, schema", "type: target, schema"},
		"an import of a type that is none":     {"type: data", "type: secret"},
		"an export that is a list of targets":  {"{name: text, schema: {type: string}}", "{name: text, type: targetList, targetType: a/b}"},
		"a nested installation without a name": {"name: web, ", ""},
		"a nested installation of nothing":     {"{file: /mail.yaml}", "{}"},
	}
	for name, mistake := range mistakes {
		text := strings.Replace(goodBlueprint, mistake[0], mistake[1], 1)
		if text == goodBlueprint {
			t.Errorf("%s: nothing was changed", name)
		}
		if editors, controllers := judge(text); editors == nil || controllers == nil {
			t.Errorf("%s: editors say: %v; controllers: %v", name, editors, controllers)
		}
	}
}

// Every field has a description for completion.
func TestEveryFieldIsDescribed(t *testing.T) {
	schemas, err := Schemas(root)
	if err != nil {
		t.Fatal(err)
	}
	e := newEditor(t)
	for name, text := range schemas {
		for _, place := range undescribed(e.parse(string(text)), nil) {
			t.Errorf("%s: %s has no description", name, place)
		}
	}
}

// undescribed returns the places of the properties without a description.
func undescribed(s map[string]any, at []string) []string {
	var places []string
	for key, value := range s {
		inner, isSchema := value.(map[string]any)
		switch here := append(slices.Clone(at), key); {
		case !isSchema:
		case key == "properties" && !slices.Contains(at, "if") && !slices.Contains(at, "then"):
			for name, property := range inner {
				content, _ := property.(map[string]any)
				if content["description"] == nil {
					places = append(places, strings.Join(append(here, name), "/"))
				}
				places = append(places, undescribed(content, append(here, name))...)
			}
		default:
			places = append(places, undescribed(inner, here)...)
		}
	}
	return places
}
