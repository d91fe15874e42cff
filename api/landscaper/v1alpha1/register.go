// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupName is the API group of all kinds in this package.
const GroupName = "landscaper.gardener.cloud"

// SchemeGroupVersion is the group and version of all kinds in this package.
var SchemeGroupVersion = schema.GroupVersion{Group: GroupName, Version: "v1alpha1"}

var schemeBuilder = runtime.NewSchemeBuilder(addKnownTypes)

// AddToScheme registers the kinds of this package, the two file formats included.
var AddToScheme = schemeBuilder.AddToScheme

// Resource qualifies a resource name with the group of this package.
func Resource(resource string) schema.GroupResource {
	return SchemeGroupVersion.WithResource(resource).GroupResource()
}

func addKnownTypes(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(SchemeGroupVersion,
		&Installation{}, &InstallationList{},
		&Execution{}, &ExecutionList{},
		&DeployItem{}, &DeployItemList{},
		&DataObject{}, &DataObjectList{},
		&Target{}, &TargetList{},
		&TargetSync{}, &TargetSyncList{},
		&Context{}, &ContextList{},
		&ComponentVersionOverwrites{}, &ComponentVersionOverwritesList{},
		&Blueprint{},
		&InstallationTemplate{},
	)
	metav1.AddToGroupVersion(scheme, SchemeGroupVersion)
	return nil
}
