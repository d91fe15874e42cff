// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Pipeline promotes revisions of an application through environments, in the order in which they are listed.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=pl,categories=espalier
// +kubebuilder:printcolumn:name="App Kind",type=string,JSONPath=`.spec.appRef.kind`
// +kubebuilder:printcolumn:name="App Name",type=string,JSONPath=`.spec.appRef.name`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
// +kubebuilder:printcolumn:name="Revision",type=string,priority=1,JSONPath=`.status.latestRevision`
// +kubebuilder:printcolumn:name="Waiting",type=string,priority=1,JSONPath=`.status.holds[*].reason`
// +kubebuilder:printcolumn:name="Suspended",type=boolean,priority=1,JSONPath=`.spec.suspend`
type Pipeline struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec names the application and its environments, and says how to promote.
	// +optional
	Spec PipelineSpec `json:"spec,omitzero"`

	// status says what was observed, what was done, and what the pipeline waits for. It is written by the controller.
	// +optional
	// +kubebuilder:default={"observedGeneration":-1}
	Status PipelineStatus `json:"status,omitzero"`
}

// PipelineList is a list of Pipelines.
//
// +kubebuilder:object:root=true
type PipelineList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Pipeline `json:"items"`
}

// PipelineSpec names an application and its environments, and says how to promote.
//
// +kubebuilder:validation:XValidation:rule="(self.appRef.kind == 'Installation' && self.appRef.apiVersion.startsWith('landscaper.gardener.cloud/')) || !((has(self.promotion) && has(self.promotion.strategy.installation)) || self.environments.exists(e, has(e.promotion) && has(e.promotion.strategy.installation)))",message="the strategy installation promotes Installations only: set appRef to an Installation of landscaper.gardener.cloud, or choose another strategy"
type PipelineSpec struct {
	// appRef names the application. It has the same name on every target.
	// +required
	AppRef AppReference `json:"appRef"`

	// environments through which the application is promoted, in order.
	// +required
	Environments []Environment `json:"environments"`

	// promotion says how to promote to environments that do not say so themselves.
	// +optional
	Promotion *Promotion `json:"promotion,omitempty"`

	// mode says what happens when a new revision appears while another is on its way. Superseding (default): the
	// new revision takes over in all environments, and promotions of the old one that are not complete are superseded.
	// Pairwise: each environment is compared with the next one only, and a promotion that has started is finished
	// before the next, so that several revisions can be on their way.
	// +optional
	Mode Mode `json:"mode,omitempty"`

	// suspend stops all promotions of the pipeline. The environments are still observed. Open pull requests stay open.
	// +optional
	Suspend bool `json:"suspend,omitempty"`
}

// PromotionTo says how to promote to an environment: as the environment itself says, or else as the pipeline does; nil if neither does.
func (s *PipelineSpec) PromotionTo(environment Environment) *Promotion {
	if environment.Promotion != nil {
		return environment.Promotion
	}
	return s.Promotion
}

// Mode says what happens when a new revision appears while another is on its way.
//
// +kubebuilder:validation:Enum=Superseding;Pairwise
type Mode string

const (
	// ModeSuperseding promotes one revision at a time; a new one takes over.
	ModeSuperseding Mode = "Superseding"
	// ModePairwise compares each environment with the next one only.
	ModePairwise Mode = "Pairwise"
)

// OrDefault returns the mode, or ModeSuperseding if none is chosen.
func (m Mode) OrDefault() Mode {
	if m == "" {
		return ModeSuperseding
	}
	return m
}

// AppReference names an application by kind and name.
type AppReference struct {
	// apiVersion of the application, for example helm.toolkit.fluxcd.io/v2.
	// +required
	APIVersion string `json:"apiVersion"`

	// kind of the application: HelmRelease, Kustomization, Terraform, Installation, or another kind with a condition
	// Ready and the field status.lastAppliedRevision that the operator has added to the kinds of applications.
	// +required
	Kind string `json:"kind"`

	// name of the application.
	// +required
	Name string `json:"name"`
}

// Environment is a stage of the pipeline, such as dev or production.
type Environment struct {
	// name of the environment. It is part of the marker in files that pull requests change, and of the URL for
	// approvals.
	// +required
	Name string `json:"name"`

	// targets are the places where the application runs in this environment. A revision is complete in the environment
	// when all targets are healthy at it. Nothing is promoted to an environment without targets.
	// +required
	Targets []Target `json:"targets"`

	// promotion says how to promote to this environment. It replaces spec.promotion as a whole.
	// +optional
	Promotion *Promotion `json:"promotion,omitempty"`

	// minHealthy is how long all targets of this environment must have been healthy at a revision before it is promoted
	// to the next environment, for example 30m. The time starts again when one of them is not. If it is not set, the
	// revision is promoted at once.
	// +optional
	MinHealthy Duration `json:"minHealthy,omitempty"`

	// firstRelease lets a revision be promoted to this environment although the application on one of its targets exists
	// there without ever having been deployed. Otherwise, a person must deploy it for the first time.
	// +optional
	FirstRelease bool `json:"firstRelease,omitempty"`

	// windows say when promotions to this environment may start. If there are windows of kind Allow, only within one of
	// them; never within one of kind Deny. A promotion that has started is not stopped.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=50
	Windows []Window `json:"windows,omitempty"`
}

// Window is a recurring time in which promotions may or may not start.
type Window struct {
	// kind says whether promotions may start in the window (Allow) or not (Deny).
	// +required
	Kind WindowKind `json:"kind"`

	// schedule says when the window opens: five fields of cron (minute, hour, day of month, month, day of week), for
	// example "0 9 * * 1-5".
	// +required
	// +kubebuilder:validation:MaxLength=100
	// +kubebuilder:validation:Pattern=`^[^\s@]+(\s+\S+){4}$`
	Schedule string `json:"schedule"`

	// duration is how long it stays open, for example 8h.
	// +required
	Duration Duration `json:"duration"`

	// timeZone of the schedule: a name of the IANA database, for example Europe/Berlin. If it is empty, it is UTC.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9_+/-]+$`
	TimeZone string `json:"timeZone,omitempty"`
}

// WindowKind says what a window is for.
//
// +kubebuilder:validation:Enum=Allow;Deny
type WindowKind string

const (
	// WindowAllow is a window in which promotions may start.
	WindowAllow WindowKind = "Allow"
	// WindowDeny is a window in which promotions may not start.
	WindowDeny WindowKind = "Deny"
)

// Target is a place where the application runs.
type Target struct {
	// namespace of the application on the cluster. Without a clusterRef, another namespace than that of the Pipeline must
	// permit the reference with a ReferenceGrant of espalier.dev.
	// +required
	Namespace string `json:"namespace"`

	// clusterRef names the cluster. If it is not set, it is the one that contains the Pipeline.
	// +optional
	ClusterRef *ClusterReference `json:"clusterRef,omitempty"`
}

// ClusterReference names an object that says how to reach a cluster.
type ClusterReference struct {
	// apiVersion of the object. It has no effect: the kind says enough.
	// +optional
	APIVersion string `json:"apiVersion,omitempty"`

	// kind of the object: GitopsCluster of gitops.weave.works, or Target of landscaper.gardener.cloud with the type
	// landscaper.gardener.cloud/kubernetes-cluster.
	// +required
	Kind ClusterKind `json:"kind"`

	// name of the object.
	// +required
	Name string `json:"name"`

	// namespace of the object. If it is empty, it is the namespace of the Pipeline. Another namespace must permit the
	// reference with a ReferenceGrant of espalier.dev.
	// +optional
	Namespace string `json:"namespace,omitempty"`
}

// ClusterKind is a kind of objects that say how to reach a cluster.
//
// +kubebuilder:validation:Enum=GitopsCluster;Target
type ClusterKind string

const (
	// ClusterKindGitopsCluster is GitopsCluster of gitops.weave.works.
	ClusterKindGitopsCluster ClusterKind = "GitopsCluster"
	// ClusterKindTarget is Target of landscaper.gardener.cloud.
	ClusterKindTarget ClusterKind = "Target"
)

// Promotion says how to promote to an environment.
type Promotion struct {
	// manual holds each promotion until it is approved.
	// +optional
	Manual bool `json:"manual,omitempty"`

	// approval says how many users must approve a manual promotion, and who may. If it is not set, one approval by anyone with
	// the right is enough. It has no effect if manual is not true.
	// +optional
	Approval *ApprovalPolicy `json:"approval,omitempty"`

	// strategy says how the revision gets into the environment.
	// +required
	Strategy Strategy `json:"strategy"`
}

// ApprovalPolicy says how many users must approve a promotion, and who may.
type ApprovalPolicy struct {
	// quorum is how many different approvers must approve (default: 1). One rejection is enough to reject.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=20
	Quorum int32 `json:"quorum,omitempty"`

	// approvers limits who may approve, among those with the right to approve. If it is empty, all of them may.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=50
	Approvers []Approver `json:"approvers,omitempty"`
}

// Approver may approve promotions: a user, or everyone who signs calls of the webhook with a certain key.
//
// +kubebuilder:validation:XValidation:rule="has(self.user) != has(self.key)",message="an approver is either a user or a key: set one of them"
type Approver struct {
	// user is the name of a user or a service account, as the Kubernetes API reports it.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=250
	User string `json:"user,omitempty"`

	// key is the name of the Secret in the namespace of the Pipeline that holds the key. It is the one that secretRef of the
	// strategy names.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=250
	Key string `json:"key,omitempty"`
}

// Strategy says how a revision gets into an environment. If both pull-request and notification are set, pull-request
// counts.
//
// +kubebuilder:validation:XValidation:rule="!has(self.installation) || !(has(self.pull__dash__request) || has(self.notification))",message="the strategy installation cannot be combined with another one: keep one of installation, pull-request and notification"
type Strategy struct {
	// pull-request writes the revision into a Git repository with a pull request.
	// +optional
	PullRequest *PullRequestStrategy `json:"pull-request,omitempty"`

	// notification sends an event and leaves the change to its receiver.
	// +optional
	Notification *NotificationStrategy `json:"notification,omitempty"`

	// installation writes the revision into the component version of the Installation that appRef names on each target,
	// and starts its job. No Git repository is needed.
	// +optional
	Installation *InstallationStrategy `json:"installation,omitempty"`

	// secretRef names a Secret in the namespace of the Pipeline. Its key hmac-key signs calls of the webhooks, approvals
	// for example.
	// +optional
	SecretRef *LocalObjectReference `json:"secretRef,omitempty"`
}

// PullRequestStrategy promotes with pull requests. In the YAML files of the repository, every value marked with the
// comment {"$promotion": "NAMESPACE:PIPELINE:ENVIRONMENT"} is replaced by the revision.
type PullRequestStrategy struct {
	// type of the Git server. gitea is for Forgejo, too.
	// +required
	Type GitProviderType `json:"type"`

	// url of the repository, beginning with https://.
	// +required
	URL string `json:"url"`

	// baseBranch is the branch that pull requests are merged into.
	// +required
	BaseBranch string `json:"baseBranch"`

	// secretRef names a Secret in the namespace of the Pipeline with the keys username and password for Git over HTTPS,
	// token for the API of the Git server, and caFile if its certificate comes from a private authority.
	// +required
	SecretRef LocalObjectReference `json:"secretRef"`
}

// GitProviderType is a kind of Git server.
//
// +kubebuilder:validation:Enum=github;gitlab;gitea;bitbucket-server;azure-devops
type GitProviderType string

// Kinds of Git servers.
const (
	GitProviderGitHub          GitProviderType = "github"
	GitProviderGitLab          GitProviderType = "gitlab"
	GitProviderGitea           GitProviderType = "gitea"
	GitProviderBitbucketServer GitProviderType = "bitbucket-server"
	GitProviderAzureDevOps     GitProviderType = "azure-devops"
)

// NotificationStrategy promotes by sending an event to Flux's notification-controller and to the Kubernetes API. It has
// no settings.
type NotificationStrategy struct{}

// InstallationStrategy promotes by changing Installations. It has no settings.
type InstallationStrategy struct{}

// LocalObjectReference names an object in the namespace of the Pipeline.
type LocalObjectReference struct {
	// name of the object.
	// +required
	Name string `json:"name"`
}
