// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	eventsv1 "k8s.io/api/events/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	pipelines "espalier.dev/api/pipelines/v1alpha1"
)

// kind is a mirrored kind.
type kind struct {
	Resource
	object client.Object
	list   func() client.ObjectList
	// strip removes what the pages do not need and must not show. It reports whether to keep the object at all.
	strip func(client.Object) bool
}

//espalier:rights ui
//	list,watch installations,executions,deployitems: what the pages show, to those who may list it
//	list,watch dataobjects,targets: what the pages show, without the values, to those who may list it
//	list,watch pipelines,events.events.k8s.io: what the pages show, to those who may list it

var kinds = []kind{
	{Resource{lsv1alpha1.GroupName, "installations"}, &lsv1alpha1.Installation{}, list[lsv1alpha1.InstallationList], withoutHistory},
	{Resource{lsv1alpha1.GroupName, "executions"}, &lsv1alpha1.Execution{}, list[lsv1alpha1.ExecutionList], withoutTemplates},
	{Resource{lsv1alpha1.GroupName, "deployitems"}, &lsv1alpha1.DeployItem{}, list[lsv1alpha1.DeployItemList], withoutConfiguration},
	{Resource{lsv1alpha1.GroupName, "dataobjects"}, &lsv1alpha1.DataObject{}, list[lsv1alpha1.DataObjectList], withoutData},
	{Resource{lsv1alpha1.GroupName, "targets"}, &lsv1alpha1.Target{}, list[lsv1alpha1.TargetList], withoutCredentials},
	{Resource{pipelines.GroupName, "pipelines"}, &pipelines.Pipeline{}, list[pipelines.PipelineList], whole},
	{Resource{eventsv1.GroupName, "events"}, &eventsv1.Event{}, list[eventsv1.EventList], aboutOurs},
}

func list[T any, P interface {
	*T
	client.ObjectList
}]() client.ObjectList {
	return P(new(T))
}

func whole(client.Object) bool { return true }

var nothing = []byte("{}")

// withoutHistory removes the earlier specs of an installation.
func withoutHistory(object client.Object) bool {
	if installation, ok := object.(*lsv1alpha1.Installation); ok {
		installation.Status.History = nil
	}
	return true
}

// withoutTemplates removes the configurations of an execution's deploy items, which may contain values of imports.
func withoutTemplates(object client.Object) bool {
	if execution, ok := object.(*lsv1alpha1.Execution); ok {
		for i := range execution.Spec.DeployItems {
			execution.Spec.DeployItems[i].Configuration = nil
		}
	}
	return true
}

func withoutConfiguration(object client.Object) bool {
	if item, ok := object.(*lsv1alpha1.DeployItem); ok {
		item.Spec.Configuration = nil
	}
	return true
}

func withoutData(object client.Object) bool {
	if data, ok := object.(*lsv1alpha1.DataObject); ok {
		data.Data = lsv1alpha1.AnyJSON{Raw: nothing}
	}
	return true
}

func withoutCredentials(object client.Object) bool {
	if target, ok := object.(*lsv1alpha1.Target); ok && target.Spec.Configuration != nil {
		target.Spec.Configuration = &lsv1alpha1.AnyJSON{Raw: nothing}
	}
	return true
}

// aboutOurs drops events about objects of other groups, of which a cluster has many.
func aboutOurs(object client.Object) bool {
	event, ok := object.(*eventsv1.Event)
	if !ok {
		return false
	}
	group := event.Regarding.GroupVersionKind().Group
	return group == lsv1alpha1.GroupName || group == pipelines.GroupName
}
