// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package deployer

// DeletionGroup is a group of objects that are deleted together. Groups are deleted one after the other. Exactly one
// field is set.
type DeletionGroup struct {
	// predefinedResourceGroup is one of the groups that every set of objects can be divided into.
	PredefinedResourceGroup *PredefinedResourceGroup `json:"predefinedResourceGroup,omitempty"`

	// customResourceGroup is a group of kinds.
	CustomResourceGroup *CustomResourceGroup `json:"customResourceGroup,omitempty"`
}

// PredefinedResourceGroup is one of the groups that every set of objects can be divided into.
type PredefinedResourceGroup struct {
	// type of the group.
	Type PredefinedResourceGroupType `json:"type,omitempty"`

	// forceDelete removes the finalizers of the objects.
	ForceDelete bool `json:"forceDelete,omitempty"`
}

// PredefinedResourceGroupType is a type of predefined group.
type PredefinedResourceGroupType string

// Types of predefined groups. If no groups are given, the first three are deleted in this order.
const (
	NamespacedResources    PredefinedResourceGroupType = "namespaced-resources"
	ClusterScopedResources PredefinedResourceGroupType = "cluster-scoped-resources"
	CustomResources        PredefinedResourceGroupType = "crds"
	// NoResources is for a list of groups that deletes nothing.
	NoResources PredefinedResourceGroupType = "empty"
)

// CustomResourceGroup is a group of kinds.
type CustomResourceGroup struct {
	// resources are the kinds.
	Resources []ResourceType `json:"resources,omitempty"`

	// forceDelete removes the finalizers of the objects.
	ForceDelete bool `json:"forceDelete,omitempty"`

	// deleteAllResources deletes all objects of the kinds, not only those of the deploy item.
	DeleteAllResources bool `json:"deleteAllResources,omitempty"`

	// targetName is the name of another Target, in the namespace of the deploy item, whose cluster contains the objects.
	// It needs deleteAllResources.
	TargetName *string `json:"targetName,omitempty"`
}

// ResourceType is a kind, possibly narrowed down.
type ResourceType struct {
	// apiVersion of the objects.
	APIVersion string `json:"apiVersion,omitempty"`

	// kind of the objects, spelled exactly as in their manifests.
	Kind string `json:"kind,omitempty"`

	// names of the objects. Empty means all.
	Names []string `json:"names,omitempty"`

	// namespaces of the objects. Empty means all.
	Namespaces []string `json:"namespaces,omitempty"`
}
