// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package component

import "fmt"

// Schema is a format of component descriptors.
type Schema string

const (
	// SchemaV2 has meta.schemaVersion: v2.
	SchemaV2 Schema = "v2"
	// SchemaV3 has apiVersion: ocm.software/v3alpha1.
	SchemaV3 Schema = "ocm.software/v3alpha1"
)

// SchemaAnnotation is the annotation of a blueprint with the schema in which its templates see component descriptors.
const SchemaAnnotation = "ocmSchemaVersion"

// kindV3 is the kind of a descriptor of schema v3alpha1.
const kindV3 = "ComponentVersion"

// ParseSchema parses the name of a schema.
func ParseSchema(text string) (Schema, error) {
	switch text {
	case string(SchemaV2):
		return SchemaV2, nil
	case string(SchemaV3), "v3alpha1":
		return SchemaV3, nil
	default:
		return "", fmt.Errorf("unknown schema %q of component descriptors: use %s or %s", text, SchemaV2, SchemaV3)
	}
}

// SchemaFor returns the schema in which the templates of a blueprint see component descriptors: the one in the blueprint's annotations,
// otherwise that of the installation's component, which may be nil.
func SchemaFor(annotations map[string]string, root *Descriptor) (Schema, error) {
	if wanted := annotations[SchemaAnnotation]; wanted != "" {
		schema, err := ParseSchema(wanted)
		if err != nil {
			return "", fmt.Errorf("annotation %s: %w", SchemaAnnotation, err)
		}
		return schema, nil
	}
	if root != nil {
		return root.Schema, nil
	}
	return SchemaV2, nil
}
