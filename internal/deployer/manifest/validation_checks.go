// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"fmt"
	"slices"

	"espalier.dev/api/deployer"
)

// operators with the number of values that each needs: none, one, or at least one.
var operators = map[deployer.RequirementOperator]string{
	deployer.OperatorExists: "no", deployer.OperatorDoesNotExist: "no",
	deployer.OperatorEquals: "exactly one", deployer.OperatorDoubleEquals: "exactly one", deployer.OperatorNotEquals: "exactly one",
	deployer.OperatorIn: "at least one", deployer.OperatorNotIn: "at least one",
}

func validateChecks(checks []deployer.CustomReadinessCheck, problems *problemList) {
	if len(checks) > maxEntries {
		problems.add("readinessChecks.custom", "has %d entries, at most %d are allowed", len(checks), maxEntries)
		return
	}
	for i, check := range checks {
		path := fmt.Sprintf("readinessChecks.custom[%d]", i)
		if check.Name == "" {
			problems.add(path+".name", "is missing")
		}
		validateSelectors(path, check, problems)
		if len(check.Requirements) == 0 || len(check.Requirements) > maxEntries {
			problems.add(path+".requirements", "needs 1 to %d entries", maxEntries)
			continue
		}
		for j, requirement := range check.Requirements {
			validateRequirement(fmt.Sprintf("%s.requirements[%d]", path, j), requirement, problems)
		}
	}
}

func validateSelectors(path string, check deployer.CustomReadinessCheck, problems *problemList) {
	if len(check.ResourceSelector) == 0 && check.LabelSelector == nil {
		problems.add(path, "needs resourceSelector or labelSelector")
	}
	for j, chosen := range check.ResourceSelector {
		if chosen.APIVersion == "" || chosen.Kind == "" || chosen.Name == "" {
			problems.add(fmt.Sprintf("%s.resourceSelector[%d]", path, j), "needs apiVersion, kind and name")
		}
	}
	if selector := check.LabelSelector; selector != nil && (selector.APIVersion == "" || selector.Kind == "" || len(selector.MatchLabels) == 0) {
		problems.add(path+".labelSelector", "needs apiVersion, kind and matchLabels")
	}
}

func validateRequirement(path string, requirement deployer.Requirement, problems *problemList) {
	validatePath(path+".jsonPath", requirement.JSONPath, problems)
	needs, known := operators[requirement.Operator]
	if !known {
		problems.add(path+".operator", "is %q, must be one of exists, !, =, ==, !=, in, notin", requirement.Operator)
		return
	}
	count := len(requirement.Values)
	if needs == "no" && count > 0 || needs == "exactly one" && count != 1 || needs == "at least one" && count == 0 {
		problems.add(path+".values", "the operator %s needs %s value", requirement.Operator, needs)
	}
}

var groupTypes = []deployer.PredefinedResourceGroupType{
	deployer.NamespacedResources, deployer.ClusterScopedResources, deployer.CustomResources, deployer.NoResources,
}

func validateGroups(path string, groups []deployer.DeletionGroup, problems *problemList) {
	if len(groups) > maxEntries {
		problems.add(path, "has %d entries, at most %d are allowed", len(groups), maxEntries)
		return
	}
	for i, group := range groups {
		at := fmt.Sprintf("%s[%d]", path, i)
		if (group.PredefinedResourceGroup == nil) == (group.CustomResourceGroup == nil) {
			problems.add(at, "needs either predefinedResourceGroup or customResourceGroup")
			continue
		}
		if predefined := group.PredefinedResourceGroup; predefined != nil && !slices.Contains(groupTypes, predefined.Type) {
			problems.add(at+".predefinedResourceGroup.type", "is %q, must be one of %s", predefined.Type, list(groupTypes))
		}
		if group.CustomResourceGroup != nil {
			validateCustomGroup(at+".customResourceGroup", *group.CustomResourceGroup, problems)
		}
	}
}

func validateCustomGroup(path string, group deployer.CustomResourceGroup, problems *problemList) {
	if len(group.Resources) == 0 || len(group.Resources) > maxEntries {
		problems.add(path+".resources", "needs 1 to %d entries", maxEntries)
	}
	for i, kind := range group.Resources {
		if kind.APIVersion == "" || kind.Kind == "" {
			problems.add(fmt.Sprintf("%s.resources[%d]", path, i), "needs apiVersion and kind")
		}
	}
	if group.TargetName != nil && !group.DeleteAllResources {
		problems.add(path+".targetName", "needs deleteAllResources: the objects of the deploy item are in its own target")
	}
}
