// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package providerconfig

import (
	"bytes"
	"encoding/json"
	"slices"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"

	"k8s.io/apimachinery/pkg/runtime"
	sigsjson "sigs.k8s.io/json"
)

// Kind is the kind of all configurations.
const Kind = "ProviderConfiguration"

// Document is a configuration of which only the version is known yet.
type Document struct {
	APIVersion string
	content    map[string]any
}

// Read reads the header of a configuration. It drops the fields of earlier versions of the API: they have long had no
// effect, but still occur in configurations.
func Read(raw *runtime.RawExtension, expected string) (*Document, Problems) {
	var problems Problems
	if raw == nil || len(raw.Raw) == 0 {
		problems.Add("", "is missing: set a %s of %s", Kind, expected)
		return nil, problems
	}
	var head struct{ APIVersion, Kind string }
	content, err := readNumbersExactly(raw.Raw)
	if err != nil || json.Unmarshal(raw.Raw, &head) != nil {
		problems.Add("", "is not a JSON object")
		return nil, problems
	}
	if head.Kind != Kind {
		problems.Add("kind", "is %q, must be %s", head.Kind, Kind)
		return nil, problems
	}
	dropRetired(content)
	return &Document{APIVersion: head.APIVersion, content: content}, nil
}

// readNumbersExactly keeps numbers as written.
func readNumbersExactly(text []byte) (map[string]any, error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var content map[string]any
	return content, decoder.Decode(&content)
}

// Decode decodes the whole configuration. Unknown fields are problems. Errors of the decoder name fields and types, not
// values.
func (d *Document) Decode(into any) Problems {
	var problems Problems
	text, err := json.Marshal(d.content)
	if err != nil {
		problems.Add("", "cannot be converted to JSON")
		return problems
	}
	unknown, err := sigsjson.UnmarshalStrict(text, into)
	if err != nil {
		problems.Add("", "%v", err)
	}
	for _, each := range unknown {
		problems.Add("", "%v", each)
	}
	return problems
}

// ReadVersion reads a configuration that has only one version, and checks the fields.
func ReadVersion(raw *runtime.RawExtension, version string, into any) Problems {
	document, problems := Read(raw, version)
	if problems.Err() != nil {
		return problems
	}
	if document.APIVersion != version {
		problems.Add("apiVersion", "is %q, must be %s", document.APIVersion, version)
		return problems
	}
	return document.Decode(into)
}

func dropRetired(content map[string]any) {
	delete(content, "deleteTimeout")
	dropFrom(content["readinessChecks"], "timeout")
	dropFrom(content["exports"], "defaultTimeout")
	checks, _ := content["readinessChecks"].(map[string]any)
	custom, _ := checks["custom"].([]any)
	exports, _ := content["exports"].(map[string]any)
	values, _ := exports["exports"].([]any)
	older, _ := content["exportsFromManifests"].([]any)
	for _, each := range slices.Concat(custom, values, older) {
		dropFrom(each, "timeout")
	}
}

func dropFrom(value any, field string) {
	if fields, ok := value.(map[string]any); ok {
		delete(fields, field)
	}
}

// ReadPart reads only some fields of a configuration, so that a mistake elsewhere does no harm.
func ReadPart(item *lsv1alpha1.DeployItem, into any) Problems {
	var problems Problems
	raw := item.Spec.Configuration
	if raw == nil || len(raw.Raw) == 0 {
		return nil
	}
	if err := json.Unmarshal(raw.Raw, into); err != nil {
		problems.Add("", "cannot be read: %v", err)
	}
	return problems
}
