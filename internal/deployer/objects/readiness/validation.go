// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package readiness

import (
	"fmt"

	"espalier.dev/api/deployer"
	"espalier.dev/internal/deployer/objects/jsonpath"
	"espalier.dev/internal/deployer/objects/providerconfig"
)

// operators maps each operator to the number of values that it needs: none, one, or at least one.
var operators = map[deployer.RequirementOperator]string{
	deployer.OperatorExists: "no", deployer.OperatorDoesNotExist: "no",
	deployer.OperatorEquals: "exactly one", deployer.OperatorDoubleEquals: "exactly one", deployer.OperatorNotEquals: "exactly one",
	deployer.OperatorIn: "at least one", deployer.OperatorNotIn: "at least one",
}

// Validate reports problems in custom checks.
func Validate(checks []deployer.CustomReadinessCheck, problems *providerconfig.Problems) {
	if len(checks) > providerconfig.MaxEntries {
		problems.Add("readinessChecks.custom", "has %d entries, at most %d are allowed", len(checks), providerconfig.MaxEntries)
		return
	}
	for i, check := range checks {
		path := fmt.Sprintf("readinessChecks.custom[%d]", i)
		if check.Name == "" {
			problems.Add(path+".name", "is missing")
		}
		validateSelectors(path, check, problems)
		if len(check.Requirements) == 0 || len(check.Requirements) > providerconfig.MaxEntries {
			problems.Add(path+".requirements", "needs 1 to %d entries", providerconfig.MaxEntries)
			continue
		}
		for j, requirement := range check.Requirements {
			validateRequirement(fmt.Sprintf("%s.requirements[%d]", path, j), requirement, problems)
		}
	}
}

func validateSelectors(path string, check deployer.CustomReadinessCheck, problems *providerconfig.Problems) {
	if len(check.ResourceSelector) == 0 && check.LabelSelector == nil {
		problems.Add(path, "needs resourceSelector or labelSelector")
	}
	for j, chosen := range check.ResourceSelector {
		if chosen.APIVersion == "" || chosen.Kind == "" || chosen.Name == "" {
			problems.Add(fmt.Sprintf("%s.resourceSelector[%d]", path, j), "needs apiVersion, kind and name")
		}
	}
	if selector := check.LabelSelector; selector != nil &&
		(selector.APIVersion == "" || selector.Kind == "" || len(selector.MatchLabels) == 0) {
		problems.Add(path+".labelSelector", "needs apiVersion, kind and matchLabels")
	}
}

func validateRequirement(path string, requirement deployer.Requirement, problems *providerconfig.Problems) {
	if _, err := jsonpath.Parse(requirement.JSONPath); err != nil {
		problems.Add(path+".jsonPath", "%v", err)
	}
	needs, known := operators[requirement.Operator]
	if !known {
		problems.Add(path+".operator", "is %q, must be one of exists, !, =, ==, !=, in, notin", requirement.Operator)
		return
	}
	count := len(requirement.Values)
	if needs == "no" && count > 0 || needs == "exactly one" && count != 1 || needs == "at least one" && count == 0 {
		problems.Add(path+".values", "the operator %s needs %s value", requirement.Operator, needs)
	}
}
