// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package crd_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

// allowed lists, by plural name and reason, where our definitions refuse more than the ones that users have today. Each
// reason says why no object that users have is refused. "Admission" is the webhook that runs with those definitions; what
// it refuses does not exist.
var allowed = map[string]map[string][]string{
	"installations": {
		"admission wants DNS labels of at most 58 characters; checked on creation only": {
			": rule: the name must have at most 58 characters (generateName 53), only lower-case letters, digits and '-', and begin and end with a letter or digit: choose another name, it becomes part of label values",
		},
		"speaks of the new field flow only": {
			": rule: flow can only be changed while the installation is at rest: wait until status.phase is Succeeded, Failed or Aborted and status.jobIDFinished equals status.jobID, or end the run with the annotation landscaper.gardener.cloud/operation=interrupt, in the continuous flow operation=abort",
		},
		"admission wants exactly one": {
			"spec.blueprint: rule: set exactly one of ref, inline, oci and git",
			"spec.componentDescriptor: rule: set exactly one of ref and inline",
			"spec.imports.data[]: rule: set exactly one of dataRef, secretRef and configMapRef",
			"spec.imports.targets[]: rule: set exactly one of target, targets, targetListRef, targetMap and targetMapRef",
		},
		"admission wants unique names": {
			"spec.imports: rule: names of imports must be unique: rename the data or target imports that share one",
			"spec.exports.data: rule: names of exports must be unique: rename or remove the ones that share one",
			"spec.exports.targets: rule: names of exports must be unique: rename or remove the ones that share one",
		},
		"admission wants names that are not empty": {
			"spec.imports.data[].name: minLength: 1",
			"spec.imports.data[]: rule: the name in secretRef or configMapRef must not be empty",
			"spec.imports.targets[].name: minLength: 1",
			"spec.imports.targets[].targets[]: minLength: 1",
			"spec.imports.targets[].targetMap: rule: the name of a Target must not be empty: name one for each key, or remove the key",
			"spec.exports.data[].name: minLength: 1",
			"spec.exports.data[].dataRef: minLength: 1",
			"spec.exports.targets[].name: minLength: 1",
			"spec.exports.targets[].target: minLength: 1",
			"spec.exports.targets[].target: required",
		},
		"admission wants keys like these": {
			"spec.imports.targets[].targetMap: rule: keys must have at most 63 characters, only lower-case letters, digits, '-' and '.', and begin and end with a letter or digit",
		},
		"the rules above need a bound; far more targets than one installation can bring to use": {
			"spec.imports.targets: maxItems: 300",
			"spec.imports.targets[].targetMap: maxProperties: 2000",
		},
		"admission parses the schedule": {
			"spec.automaticReconcile.failedReconcile.cronSpec: rule: must be a schedule of five fields such as '0 6 * * 1-5', one of @yearly, @monthly, @weekly, @daily and @hourly, or '@every 6h'",
			"spec.automaticReconcile.succeededReconcile.cronSpec: rule: must be a schedule of five fields such as '0 6 * * 1-5', one of @yearly, @monthly, @weekly, @daily and @hourly, or '@every 6h'",
		},
		"admission parses the duration": {
			"spec.automaticReconcile.failedReconcile.interval: rule: must be a duration such as 90s, 10m or 1h30m, or none for no limit",
			"spec.automaticReconcile.succeededReconcile.interval: rule: must be a duration such as 90s, 10m or 1h30m, or none for no limit",
		},
		"the rules above need a bound; no real schedule or duration is as long": {
			"spec.automaticReconcile.failedReconcile.cronSpec: maxLength: 1000",
			"spec.automaticReconcile.succeededReconcile.cronSpec: maxLength: 1000",
			"spec.automaticReconcile.failedReconcile.interval: maxLength: 100",
			"spec.automaticReconcile.succeededReconcile.interval: maxLength: 100",
		},
	},
	"executions": {
		"admission wants names and types that are not empty": {
			"spec.deployItems[].name: minLength: 1",
			"spec.deployItems[].type: minLength: 1",
		},
		"admission wants a name and a namespace": {
			"spec.deployItems[].target: rule: target needs a name and a namespace: set both, or remove target",
		},
		"admission wants unique names, and dependsOn to name existing items": {
			"spec.deployItems: rule: names of deploy items must be unique, and dependsOn must name deploy items of the list: correct the names or add the missing item",
		},
		"admission parses the duration": {
			"spec.deployItems[].timeout: rule: must be a duration such as 90s, 10m or 1h30m, or none for no limit",
		},
		"the rules above need a bound; today's clients write all but empty lists compressed": {
			"spec.deployItems: maxItems: 2000",
			"spec.deployItems[].dependsOn: maxItems: 500",
			"spec.deployItems[].timeout: maxLength: 100",
		},
	},
	"deployitems": {
		"admission wants a type and does not let it change": {
			"spec.type: minLength: 1",
			"spec.type: rule: type cannot be changed, because another deployer would not know what this one has deployed: delete the deploy item and create a new one",
		},
		"admission wants a name and a namespace": {
			"spec.target: rule: target needs a name and a namespace: set both, or remove target",
		},
		"admission parses the duration": {
			"spec.timeout: rule: must be a duration such as 90s, 10m or 1h30m, or none for no limit",
		},
		"the rule above needs a bound; no real duration is as long": {
			"spec.timeout: maxLength: 100",
		},
	},
	"targets": {
		"admission rejects config together with secretRef": {
			"spec: rule: config and secretRef must not be set together: keep the one that holds the access data",
		},
	},
	"pipelines": {
		"the same column is called Message, as that of all other kinds; what is stored does not change": {
			"additionalPrinterColumns: Status is missing, changed or out of order",
		},
		"speaks of the new field installation only": {
			"spec: rule: the strategy installation promotes Installations only: set appRef to an Installation of landscaper.gardener.cloud, or choose another strategy",
			"spec.promotion.strategy: rule: the strategy installation cannot be combined with another one: keep one of installation, pull-request and notification",
			"spec.environments[].promotion.strategy: rule: the strategy installation cannot be combined with another one: keep one of installation, pull-request and notification",
		},
	},
}

// The files in testdata/reference hold the facts of the definitions that users have installed today: names, types,
// formats and so on, without any text.
func TestObjectsOfTodaysDefinitionsStayValid(t *testing.T) {
	references := references(t)
	others := slices.DeleteFunc(all(t), func(d *apiextensionsv1.CustomResourceDefinition) bool { return d.Spec.Group == "espalier.dev" })
	if len(others) != len(references) {
		t.Errorf("%d references for %d definitions", len(references), len(others))
	}
	for plural, reference := range references {
		t.Run(plural, func(t *testing.T) {
			checkFindings(t, compareDefinitions(reference, definition(t, plural)), allowed[plural])
		})
	}
}

func checkFindings(t *testing.T, findings []string, allowed map[string][]string) {
	t.Helper()
	var known []string
	for _, entries := range allowed {
		known = append(known, entries...)
	}
	for _, finding := range findings {
		if !slices.Contains(known, finding) {
			t.Errorf("%s\nObjects that users have may be refused or lose data. If that cannot happen, list the finding with the reason.", finding)
		}
	}
	for _, entry := range known {
		if !slices.Contains(findings, entry) {
			t.Errorf("%q is allowed but not found: remove it from the list", entry)
		}
	}
}

func references(t *testing.T) map[string]*apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", "reference", "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]*apiextensionsv1.CustomResourceDefinition{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		reference := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.UnmarshalStrict(text, reference); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		found[reference.Spec.Names.Plural] = reference
	}
	return found
}
