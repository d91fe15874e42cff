// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"fmt"
	"strings"
	"testing"
)

// large writes a descriptor with a number of resources.
func large(resources int) string {
	var text strings.Builder
	text.WriteString(
		"meta: {schemaVersion: v2}\ncomponent:\n  name: example.com/large\n  version: 1.0.0\n  provider: example.com\n  resources:\n",
	)
	for i := range resources {
		fmt.Fprintf(&text, "  - name: image-%d\n    version: 1.0.%d\n    type: ociImage\n    relation: external\n", i, i)
		fmt.Fprintf(
			&text,
			"    labels: [{name: stage, value: stable}]\n    access: {type: ociArtifact, imageReference: \"images.example.com/image-%d:1.0.%d\"}\n",
			i,
			i,
		)
	}
	return text.String()
}

func BenchmarkParse100Resources(b *testing.B) {
	d := describe(b, large(100))
	yaml, err := d.YAML(SchemaV2)
	if err != nil {
		b.Fatal(err)
	}
	json, err := d.JSON(SchemaV3)
	if err != nil {
		b.Fatal(err)
	}
	for name, text := range map[string][]byte{"YAML": yaml, "JSON": json} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				if _, err := Parse(text, DefaultLimits); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkGetResourceAmong100(b *testing.B) {
	set := setOf(b, describe(b, large(100)))
	get := Functions(FunctionOptions{Set: set, Schema: SchemaV2})["getResource"]
	cd := set.Root().View(SchemaV2)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := get(cd, "name", "image-99"); err != nil {
			b.Fatal(err)
		}
	}
}
