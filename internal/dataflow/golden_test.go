// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package dataflow_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/dataflow"
	"espalier.dev/internal/failure"
	"espalier.dev/internal/schema"
)

var update = flag.Bool("update", false, "write what the golden tests give into their files")

// goldenCase is one installation with everything that it sees.
type goldenCase struct {
	// Parent is the installation that it is nested in.
	Parent       string                  `json:"parent,omitempty"`
	Installation lsv1alpha1.Installation `json:"installation"`
	Blueprint    lsv1alpha1.Blueprint    `json:"blueprint"`

	DataObjects []*lsv1alpha1.DataObject     `json:"dataObjects,omitempty"`
	Targets     []*lsv1alpha1.Target         `json:"targets,omitempty"`
	Secrets     map[string]map[string]string `json:"secrets,omitempty"`
	ConfigMaps  map[string]map[string]string `json:"configMaps,omitempty"`

	// Exported are the values that the export executions of the blueprint return.
	Exported map[string]any `json:"exported,omitempty"`
}

// goldenResult is the result. For an error, it contains what a status would report.
type goldenResult struct {
	Needs       *dataflow.Needs          `json:"needs,omitempty"`
	Values      map[string]any           `json:"values,omitempty"`
	DataObjects []*lsv1alpha1.DataObject `json:"dataObjects,omitempty"`
	Targets     []*lsv1alpha1.Target     `json:"targets,omitempty"`
	Warnings    []string                 `json:"warnings,omitempty"`
	Error       *goldenError             `json:"error,omitempty"`
}

type goldenError struct {
	Kind      string   `json:"kind"`
	Operation string   `json:"operation,omitempty"`
	Reason    string   `json:"reason"`
	Codes     []string `json:"codes,omitempty"`
	Message   string   `json:"message"`
}

func resultOf(result goldenResult, err error) goldenResult {
	if err == nil {
		return result
	}
	details := failure.DetailsOf(err)
	return goldenResult{Needs: result.Needs, Error: &goldenError{
		Kind: failure.KindOf(err).String(), Operation: details.Operation, Reason: details.Reason, Codes: details.Codes, Message: err.Error(),
	}}
}

func (c *goldenCase) scope() dataflow.Scope {
	return dataflow.Scope{Namespace: c.Installation.Namespace, Parent: c.Parent, JobID: c.Installation.Status.JobID}
}

func (c *goldenCase) owner() dataflow.Owner {
	i := &c.Installation
	return dataflow.Owner{Namespace: i.Namespace, Name: i.Name, UID: i.UID, JobID: i.Status.JobID}
}

func (c *goldenCase) facts() dataflow.Facts {
	facts := dataflow.Facts{
		DataObjects: c.DataObjects,
		Targets:     c.Targets,
		Secrets:     map[string]map[string][]byte{},
		ConfigMaps:  map[string]map[string][]byte{},
	}
	for name, data := range c.Secrets {
		facts.Secrets[name] = dataflow.ConfigMapContent(data, nil)
	}
	for name, data := range c.ConfigMaps {
		facts.ConfigMaps[name] = dataflow.ConfigMapContent(data, nil)
	}
	return facts
}

// validator checks with real schemas, including local types.
func (c *goldenCase) validator() dataflow.Validator {
	compiler := schema.NewCompiler(schema.DefaultLimits(), schema.DefaultCacheBytes)
	sources := schema.Sources{Draft: c.Blueprint.JSONSchemaVersion, LocalTypes: map[string][]byte{}}
	for name, text := range c.Blueprint.LocalTypes {
		sources.LocalTypes[name] = text.Raw
	}
	return func(what string, text lsv1alpha1.AnyJSON, value any) error {
		return compiler.Validate(what, text.Raw, sources, value)
	}
}

func (c *goldenCase) imports() (goldenResult, error) {
	spec := c.Installation.Spec
	needs := dataflow.NeedsOf(c.scope(), spec.Imports)
	result := goldenResult{Needs: &needs}
	resolved, err := dataflow.Resolve(c.scope(), spec.Imports, c.facts())
	if err != nil {
		return result, err
	}
	imports, err := dataflow.Construct(dataflow.ImportInput{
		Definitions: c.Blueprint.Imports, Resolved: resolved, Mappings: spec.ImportDataMappings, Map: paths, Validate: c.validator(),
	})
	if err != nil {
		return result, err
	}
	objects, err := imports.Objects(c.owner())
	result.Values, result.Warnings = imports.Values, imports.Warnings
	result.DataObjects, result.Targets = objects.DataObjects, objects.Targets
	return result, err
}

func (c *goldenCase) exports() (goldenResult, error) {
	spec := c.Installation.Spec
	exports, err := dataflow.BuildExports(dataflow.ExportInput{
		Definitions: c.Blueprint.Exports,
		Values:      c.Exported,
		Exports:     spec.Exports,
		Mappings:    spec.ExportDataMappings,
		Map:         paths,
		Validate:    c.validator(),
	})
	if err != nil {
		return goldenResult{}, err
	}
	existing := dataflow.Existing{}
	for _, object := range c.DataObjects {
		existing[dataflow.ObjectID{Kind: dataflow.KindDataObject, Name: object.Name}] = object.OwnerReferences
	}
	for _, target := range c.Targets {
		existing[dataflow.ObjectID{Kind: dataflow.KindTarget, Name: target.Name}] = target.OwnerReferences
	}
	objects, err := exports.Objects(c.scope(), c.owner(), existing)
	return goldenResult{DataObjects: objects.DataObjects, Targets: objects.Targets, Warnings: exports.Warnings}, err
}

func TestGoldenImports(t *testing.T) {
	golden(t, "imports", func(c *goldenCase) goldenResult { return resultOf(c.imports()) })
}

func TestGoldenExports(t *testing.T) {
	golden(t, "exports", func(c *goldenCase) goldenResult { return resultOf(c.exports()) })
}

// golden compares NAME.out.yaml with the result of NAME.in.yaml.
func golden(t *testing.T, folder string, run func(*goldenCase) goldenResult) {
	inputs, err := filepath.Glob(filepath.Join("testdata", folder, "*.in.yaml"))
	if err != nil || len(inputs) == 0 {
		t.Fatalf("no cases in testdata/%s: %v", folder, err)
	}
	for _, input := range inputs {
		t.Run(strings.TrimSuffix(filepath.Base(input), ".in.yaml"), func(t *testing.T) {
			text, err := os.ReadFile(input)
			if err != nil {
				t.Fatal(err)
			}
			c := parse[goldenCase](t, string(text))
			got, err := yaml.Marshal(run(&c))
			if err != nil {
				t.Fatal(err)
			}
			output := strings.TrimSuffix(input, ".in.yaml") + ".out.yaml"
			if *update {
				if err := os.WriteFile(output, got, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(output)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), string(got)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", output, diff)
			}
		})
	}
}
