// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package readiness

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"espalier.dev/api/deployer"
)

const gate = `
spec: {ports: [{port: 80}, {port: 443}], one: [{port: 80}], list: [a, b]}
status:
  phase: Open
  nothing: null
  conditions: [{status: "True"}, {status: "False"}]
  good: [{status: "True"}, {status: "True"}, {status: null}, {}]
`

func TestRequirements(t *testing.T) {
	for text, want := range map[string]bool{
		"{jsonPath: .status.phase, operator: exists}":                                                    true,
		"{jsonPath: .status.nothing, operator: exists}":                                                  false,
		"{jsonPath: .status.missing, operator: exists}":                                                  false,
		"{jsonPath: '.spec.ports[*].port', operator: exists}":                                            true,
		"{jsonPath: .status.missing, operator: '!'}":                                                     true,
		"{jsonPath: .status.phase, operator: '!'}":                                                       false,
		"{jsonPath: .status.phase, operator: '=', values: [{value: Open}]}":                              true,
		"{jsonPath: .status.phase, operator: '==', values: [{value: Shut}]}":                             false,
		"{jsonPath: .status.missing, operator: '==', values: [{value: Open}]}":                           false,
		"{jsonPath: .status.phase, operator: '!=', values: [{value: Shut}]}":                             true,
		"{jsonPath: .status.phase, operator: '!=', values: [{value: Open}]}":                             false,
		"{jsonPath: .status.missing, operator: '!=', values: [{value: Open}]}":                           false,
		"{jsonPath: .status.nothing, operator: '!=', values: [{value: Open}]}":                           false,
		"{jsonPath: .status.phase, operator: notin, values: [{value: Shut}, {value: Ajar}]}":             true,
		"{jsonPath: .status.phase, operator: notin, values: [{value: Shut}, {value: Open}]}":             false,
		"{jsonPath: .status.missing, operator: notin, values: [{value: Shut}, {value: Open}]}":           false,
		"{jsonPath: '.status.none[*].status', operator: notin, values: [{value: 'False'}]}":              false,
		"{jsonPath: .spec.list, operator: '==', values: [{value: [a, b]}]}":                              true,
		"{jsonPath: '.spec.one[*].port', operator: '==', values: [{value: 80}]}":                         true,
		"{jsonPath: '.spec.ports[*].port', operator: '==', values: [{value: 80}]}":                       false,
		"{jsonPath: '.spec.ports[*].port', operator: in, values: [{value: 443}, {value: 80.0}]}":         true,
		"{jsonPath: '.spec.ports[*].port', operator: in, values: [{value: 80}, {value: 8080}]}":          false,
		"{jsonPath: '.spec.ports[*].port', operator: '!=', values: [{value: 8080}]}":                     true,
		"{jsonPath: '.spec.ports[*].port', operator: '!=', values: [{value: 443}]}":                      false,
		"{jsonPath: '.spec.ports[*].port', operator: notin, values: [{value: 8080}, {value: 443}]}":      false,
		"{jsonPath: '.status.good[*].status', operator: '==', values: [{value: 'True'}]}":                true,
		"{jsonPath: '.status.conditions[*].status', operator: '==', values: [{value: 'True'}]}":          false,
		"{jsonPath: '.status.conditions[*].status', operator: '!=', values: [{value: 'Unknown'}]}":       true,
		"{jsonPath: '.status.conditions[*].status', operator: in, values: [{value: ['True', 'False']}]}": false,
	} {
		t.Run(text, func(t *testing.T) {
			object := &unstructured.Unstructured{}
			if err := yaml.Unmarshal([]byte(gate), &object.Object); err != nil {
				t.Fatal(err)
			}
			var r deployer.Requirement
			if err := yaml.Unmarshal([]byte(text), &r); err != nil {
				t.Fatal(err)
			}
			compiled, err := compile([]deployer.Requirement{r})
			if err != nil {
				t.Fatal(err)
			}
			if unmet := firstUnmet(compiled, object); (unmet == "") != want {
				t.Errorf("met: %v (%s)", !want, unmet)
			}
		})
	}
}
