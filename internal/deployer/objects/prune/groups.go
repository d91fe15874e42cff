// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package prune

import (
	"slices"

	"espalier.dev/api/deployer"
	"espalier.dev/internal/deployer/objects/inventory"
)

// defaultGroups are used if no groups are given.
var defaultGroups = []deployer.DeletionGroup{
	{PredefinedResourceGroup: &deployer.PredefinedResourceGroup{Type: deployer.NamespacedResources}},
	{PredefinedResourceGroup: &deployer.PredefinedResourceGroup{Type: deployer.ClusterScopedResources}},
	{PredefinedResourceGroup: &deployer.PredefinedResourceGroup{Type: deployer.CustomResources}},
}

func groupsOrDefault(groups []deployer.DeletionGroup) []deployer.DeletionGroup {
	if len(groups) == 0 {
		return defaultGroups
	}
	return groups
}

// contains reports whether an entry belongs to a group.
func contains(group deployer.DeletionGroup, entry inventory.Entry) bool {
	if predefined := group.PredefinedResourceGroup; predefined != nil {
		return predefinedType(entry) == predefined.Type
	}
	custom := group.CustomResourceGroup
	return custom != nil && !custom.DeleteAllResources && slices.ContainsFunc(custom.Resources, func(kind deployer.ResourceType) bool {
		return selects(kind, entry.Resource)
	})
}

func predefinedType(entry inventory.Entry) deployer.PredefinedResourceGroupType {
	switch {
	case inventory.IsCRD(entry):
		return deployer.CustomResources
	case entry.Resource.Namespace == "":
		return deployer.ClusterScopedResources
	}
	return deployer.NamespacedResources
}

func selects(kind deployer.ResourceType, object deployer.ResourceReference) bool {
	return kind.APIVersion == object.APIVersion && kind.Kind == object.Kind &&
		(len(kind.Names) == 0 || slices.Contains(kind.Names, object.Name)) &&
		(len(kind.Namespaces) == 0 || slices.Contains(kind.Namespaces, object.Namespace))
}

func force(group deployer.DeletionGroup) bool {
	return group.PredefinedResourceGroup != nil && group.PredefinedResourceGroup.ForceDelete ||
		group.CustomResourceGroup != nil && group.CustomResourceGroup.ForceDelete
}
