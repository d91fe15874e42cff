// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"espalier.dev/api/deployer"
	landscaper "espalier.dev/api/landscaper/v1alpha1"
)

// ForceCleanupAnnotation on a deploy item that is being deleted skips the run of the image with the operation DELETE.
const ForceCleanupAnnotation = GroupName + "/force-cleanup"

// DeployItemUIDLabel is on all objects of a deploy item, such as its pod. Its value is the UID of the deploy item.
const DeployItemUIDLabel = "deployitem." + GroupName + "/uid"

// ProviderConfiguration says which image to run.
//
// +kubebuilder:object:root=true
type ProviderConfiguration struct {
	metav1.TypeMeta `json:",inline"`

	// image to run. If it is empty, the deployer's default is used.
	Image string `json:"image,omitempty"`

	// command to run in place of the image's entry point.
	Command []string `json:"command,omitempty"`

	// args for the command.
	Args []string `json:"args,omitempty"`

	// importValues are what the container finds in the file IMPORTS_PATH.
	ImportValues *landscaper.AnyJSON `json:"importValues,omitempty"`

	// blueprint whose directory the container finds in CONTENT_PATH.
	Blueprint *landscaper.BlueprintDefinition `json:"blueprint,omitempty"`

	// componentDescriptor that the container finds in the file COMPONENT_DESCRIPTOR_PATH.
	ComponentDescriptor *landscaper.ComponentDescriptorDefinition `json:"componentDescriptor,omitempty"`

	// registryPullSecrets name Secrets with credentials for registries.
	RegistryPullSecrets []landscaper.ObjectReference `json:"registryPullSecrets,omitempty"`

	// continuousReconcile runs the image again at certain times.
	ContinuousReconcile *deployer.ContinuousReconcile `json:"continuousReconcile,omitempty"`
}

// Operation is what the container is asked to do, in the environment variable OPERATION.
type Operation string

// Operations of a container.
const (
	OperationReconcile Operation = "RECONCILE"
	OperationDelete    Operation = "DELETE"
)

// ProviderStatus describes the last run of the image.
//
// +kubebuilder:object:root=true
type ProviderStatus struct {
	metav1.TypeMeta `json:",inline"`

	// lastOperation is what the container was last asked to do.
	LastOperation Operation `json:"lastOperation"`

	// podStatus describes the pod.
	PodStatus *PodStatus `json:"podStatus,omitempty"`
}

// PodStatus describes a pod.
type PodStatus struct {
	// podName is the name of the pod.
	PodName string `json:"podName"`

	// lastRun is when the pod was created.
	LastRun *metav1.Time `json:"lastRun,omitempty"`

	// run identifies the run of the image by job, configuration and operation. It is set once the pod was created.
	Run string `json:"run,omitempty"`

	// endedAt is when the deployer recorded the end of that run.
	EndedAt *metav1.Time `json:"endedAt,omitempty"`

	// lastSuccessfulJobID is the last job in which the container succeeded.
	LastSuccessfulJobID *string `json:"lastSuccessfulJobID,omitempty"`

	// containerStatus describes the container that runs the image.
	ContainerStatus ContainerStatus `json:"containerStatus"`

	// initContainerStatus describes the container that fetches content and state before.
	InitContainerStatus ContainerStatus `json:"initContainerStatus"`

	// waitContainerStatus describes the container that stores exports and state afterwards.
	WaitContainerStatus ContainerStatus `json:"waitContainerStatus"`
}

// ContainerStatus describes a container.
type ContainerStatus struct {
	// message says to people how it went.
	Message string `json:"message,omitempty"`

	// reason is one word for how it went.
	Reason string `json:"reason,omitempty"`

	// state of the container.
	State ContainerState `json:"state,omitzero"`

	// image that was requested.
	Image string `json:"image"`

	// imageID is the image that was used.
	ImageID string `json:"imageID"`

	// exitCode of the container once it has ended.
	ExitCode *int32 `json:"exitCode,omitempty"`
}

// ContainerState is the state of a container in the form in which Kubernetes reports it. At most one field is set.
type ContainerState struct {
	// waiting is set while the container cannot start yet.
	Waiting *ContainerStateWaiting `json:"waiting,omitempty"`

	// running is set while the container runs.
	Running *ContainerStateRunning `json:"running,omitempty"`

	// terminated is set once the container has ended.
	Terminated *ContainerStateTerminated `json:"terminated,omitempty"`
}

// ContainerStateWaiting says why a container cannot start.
type ContainerStateWaiting struct {
	// reason is one word for why it cannot start.
	Reason string `json:"reason,omitempty"`

	// message says so to people.
	Message string `json:"message,omitempty"`
}

// ContainerStateRunning says since when a container runs.
type ContainerStateRunning struct {
	// startedAt is when it started.
	StartedAt *metav1.Time `json:"startedAt,omitempty"`
}

// ContainerStateTerminated says how a container ended.
type ContainerStateTerminated struct {
	// exitCode of the container.
	ExitCode int32 `json:"exitCode"`

	// signal that ended it.
	Signal int32 `json:"signal,omitempty"`

	// reason is one word for how it ended.
	Reason string `json:"reason,omitempty"`

	// message says so to people.
	Message string `json:"message,omitempty"`

	// startedAt is when it started.
	StartedAt *metav1.Time `json:"startedAt,omitempty"`

	// finishedAt is when it ended.
	FinishedAt *metav1.Time `json:"finishedAt,omitempty"`

	// containerID of the container.
	ContainerID string `json:"containerID,omitempty"`
}
