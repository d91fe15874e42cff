// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package prune

import (
	"fmt"
	"slices"

	"espalier.dev/api/deployer"
	"espalier.dev/internal/deployer/objects/providerconfig"
)

var groupTypes = []deployer.PredefinedResourceGroupType{
	deployer.NamespacedResources, deployer.ClusterScopedResources, deployer.CustomResources, deployer.NoResources,
}

// Validate reports problems in the groups at a path.
func Validate(path string, groups []deployer.DeletionGroup, problems *providerconfig.Problems) {
	if len(groups) > providerconfig.MaxEntries {
		problems.Add(path, "has %d entries, at most %d are allowed", len(groups), providerconfig.MaxEntries)
		return
	}
	for i, group := range groups {
		at := fmt.Sprintf("%s[%d]", path, i)
		if (group.PredefinedResourceGroup == nil) == (group.CustomResourceGroup == nil) {
			problems.Add(at, "needs either predefinedResourceGroup or customResourceGroup")
			continue
		}
		if predefined := group.PredefinedResourceGroup; predefined != nil && !slices.Contains(groupTypes, predefined.Type) {
			problems.Add(at+".predefinedResourceGroup.type", "is %q, %s", predefined.Type, providerconfig.OneOf(groupTypes))
		}
		if group.CustomResourceGroup != nil {
			validateCustomGroup(at+".customResourceGroup", *group.CustomResourceGroup, problems)
		}
	}
}

func validateCustomGroup(path string, group deployer.CustomResourceGroup, problems *providerconfig.Problems) {
	if len(group.Resources) == 0 || len(group.Resources) > providerconfig.MaxEntries {
		problems.Add(path+".resources", "needs 1 to %d entries", providerconfig.MaxEntries)
	}
	for i, kind := range group.Resources {
		if kind.APIVersion == "" || kind.Kind == "" {
			problems.Add(fmt.Sprintf("%s.resources[%d]", path, i), "needs apiVersion and kind")
		}
	}
	if group.TargetName != nil && !group.DeleteAllResources {
		problems.Add(path+".targetName", "needs deleteAllResources: the objects of the deploy item are in its own target")
	}
}
