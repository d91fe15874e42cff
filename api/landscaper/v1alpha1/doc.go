// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 is the API group landscaper.gardener.cloud/v1alpha1: trees of installations with typed imports and
// exports.
//
// An Installation names a Blueprint and binds its imports and exports. Processing it creates nested Installations and
// at most one Execution; the Execution creates DeployItems, which deployers bring to the clusters that Targets
// describe. DataObjects and Targets carry the values that flow between installations. A Context holds what all
// installations of a namespace share, such as registries and their credentials.
//
// Blueprint and InstallationTemplate are file formats, not resources of the API server.
//
// The types accept every object that the original controllers of this group accept; decoding one never fails because
// of the value of a single field, so one odd object cannot make a whole List unreadable.
//
// Rules in the types must not lock out objects that exist. The API server does not apply a rule to a part of an object
// that an update leaves as it is, but it cannot tell that a part is unchanged if it contains free content such as AnyJSON
// outside of a list, or a list with x-kubernetes-list-type map and equal keys; and it does apply rules whose evaluation ends
// in an error. Therefore lists that users write have no list type, and rules of which one of that is true compare with the
// old object themselves. To find names that occur twice in a time that grows with the length of a list only, rules insert
// them into a map, which is an error for the second; its text contains the name.
//
// +kubebuilder:object:generate=true
// +groupName=landscaper.gardener.cloud
package v1alpha1
