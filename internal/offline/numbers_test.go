// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package offline

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

const mappedManifests = `
apiVersion: landscaper.gardener.cloud/v1alpha1
kind: DataObject
metadata: {name: sizes}
data: {small: [1, {v: 2}], name: x}
---
apiVersion: landscaper.gardener.cloud/v1alpha1
kind: Installation
metadata: {name: shop}
spec:
  imports: {data: [{name: size, dataRef: sizes}, {name: other, dataRef: elsewhere}, {name: hidden, secretRef: {name: sizes, key: a}}]}
  importDataMappings: {import: %s}
  exportDataMappings: {export: %s}
  blueprint: {inline: {filesystem: {blueprint.yaml: "exports: [{name: size, schema: {type: integer}}]"}}}
`

// The numbers in imports are those of the DataObjects that the manifests contain, the numbers in exports those of the schemas.
func TestCalculationsInDataMappings(t *testing.T) {
	const about = "in Landscaper imported numbers are floats"
	for _, c := range []struct{ imports, exports, want string }{
		{"'(( size.small[0] / 2 ))'", "{}", "spec.importDataMappings.import: (( size.small[0] / 2 ))"},
		{"{a: ['(( size.small.[1].v > 1 ))']}", "{}", "spec.importDataMappings.import: at a[0]: (( size.small.[1].v > 1 ))"},
		{"'(( size.small.[1 - 1] / 2 ))'", "{}", "spec.importDataMappings.import: (( size.small.[1 - 1] / 2 ))"},
		{"'(( size.name == \"y\" ))'", "{}", ""},
		{"'(( size.small[1] == 2 ))'", "{}", ""},
		{"'(( size.small[2] / 2 ))'", "{}", ""},
		{"'(( size.small[-1] / 2 ))'", "{}", ""},
		{"'(( size.name.n / 2 ))'", "{}", ""},
		{"'(( other / 2 ))'", "{}", ""},
		{"'(( hidden.small[0] / 2 ))'", "{}", ""},
		{"'(( nowhere / 2 ))'", "{}", ""},
		{"{}", "'(( size / 2 ))'", "spec.exportDataMappings.export: (( size / 2 ))"},
		{"{}", "'(( other / 2 ))'", ""},
	} {
		checked, err := CheckBlueprints([]string{StdinPath}, strings.NewReader(fmt.Sprintf(mappedManifests, c.imports, c.exports)))
		if err != nil || len(checked) != 1 || len(checked[0].Errors) > 0 {
			t.Fatalf("%s %s: got %+v, %v", c.imports, c.exports, checked, err)
		}
		warnings := slices.DeleteFunc(checked[0].Warnings, func(warning string) bool { return !strings.Contains(warning, about) })
		if len(warnings) > 1 || (len(warnings) == 1) != (c.want != "") || c.want != "" && !strings.HasPrefix(warnings[0], c.want+": ") {
			t.Errorf("%s %s: got %q, want %q", c.imports, c.exports, warnings, c.want)
		}
	}
}
