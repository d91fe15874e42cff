// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Finalizer keeps Installations, Executions, DeployItems and TargetSyncs until their controller has cleaned up.
const Finalizer = "finalizer." + GroupName

// Annotations with which users and controllers request something.
const (
	// OperationAnnotation requests one of the operations below. Controllers remove it once they act on it.
	OperationAnnotation = GroupName + "/operation"
	// ReconcileIfChangedAnnotation, set to "true" on a root installation, starts a job whenever its spec changes.
	ReconcileIfChangedAnnotation = GroupName + "/reconcile-if-changed"
	// ReconcileReasonAnnotation says why a job was requested; see ReconcileReasonRetry.
	ReconcileReasonAnnotation = GroupName + "/reconcile-reason"
	// DeleteWithoutUninstallAnnotation, set to "true", deletes a tree of objects and leaves alone what they deployed.
	DeleteWithoutUninstallAnnotation = GroupName + "/delete-without-uninstall"
	// DeleteIgnoreSuccessorsAnnotation, set to "true", deletes an installation although siblings import its exports.
	DeleteIgnoreSuccessorsAnnotation = GroupName + "/delete-ignore-successors"
	// IgnoreAnnotation, set to "true", freezes a completed object of the continuous flow.
	IgnoreAnnotation = GroupName + "/ignore"
	// SuspendAnnotation, set to "true" on a root installation, keeps new runs of its tree from starting. "false" means the same as no
	// annotation.
	SuspendAnnotation = "espalier.dev/suspend"
	// SuspendReasonAnnotation says who has suspended a root installation or a pipeline, and why.
	SuspendReasonAnnotation = "espalier.dev/suspend-reason"
	// CacheHelmChartsAnnotation, set to "true", lets the helm deployer reuse downloaded charts.
	CacheHelmChartsAnnotation = GroupName + "/cache-helm-charts"
	// TouchAnnotation is changed to wake the controllers that watch an object.
	TouchAnnotation = GroupName + "/touch"
	// RotateTokenAnnotation on a TargetSync requests a new token at once.
	RotateTokenAnnotation = GroupName + "/rotate-token"
)

// Operation is a value of OperationAnnotation.
type Operation string

// Operations that OperationAnnotation can request.
const (
	// OperationReconcile starts a job at a root installation, or a standard reconcile in the continuous flow.
	OperationReconcile Operation = "reconcile"
	// OperationInterrupt ends the running job of a tree as failed.
	OperationInterrupt Operation = "interrupt"
	// OperationForceReconcile updates all objects of the continuous flow at once, whatever they depend on.
	OperationForceReconcile Operation = "force-reconcile"
	// OperationAbort stops an installation of the continuous flow.
	OperationAbort Operation = "abort"
	// OperationTestReconcile starts a job of a single deploy item.
	OperationTestReconcile Operation = "test-reconcile"
)

// ReconcileReasonRetry is the value of ReconcileReasonAnnotation when spec.automaticReconcile requested the job.
const ReconcileReasonRetry = "retry"

// Annotations that controllers write for each other.
const (
	// SubinstallationNameAnnotation is the name that the parent's blueprint gives to a nested installation.
	SubinstallationNameAnnotation = GroupName + "/subinstallation-name"
	// ExecutionDependsOnAnnotation lists, separated by commas, the deploy items that a deploy item depends on.
	ExecutionDependsOnAnnotation = "execution." + GroupName + "/dependsOn"
	// DeployerTypeAnnotation repeats the type of a deploy item, so that deployers can filter by metadata alone.
	DeployerTypeAnnotation = GroupName + "/deployer-type"
	// DeployerTargetNameAnnotation repeats the name of a deploy item's target for the same purpose.
	DeployerTargetNameAnnotation = GroupName + "/deployer-target-name"
	// NoTargetName is the value of DeployerTargetNameAnnotation when there is no target.
	NoTargetName = ".noTargetName"
	// ClusterNameAnnotation is the name of the cluster that a Target created by a TargetSync leads to.
	ClusterNameAnnotation = GroupName + "/clustername"
	// LastTargetSyncAnnotation is when a TargetSync last requested the credentials for the Target of a shoot.
	LastTargetSyncAnnotation = GroupName + "/lasttargetsync"
	// DataObjectHashAnnotation is the hash of the value in a DataObject or Target.
	DataObjectHashAnnotation = "data." + GroupName + "/hash"
)

// Labels that connect objects.
const (
	// TargetSyncLabel, set to TargetSyncOK, is on the Targets and Secrets that a TargetSync created.
	TargetSyncLabel = GroupName + "/targetsync"
	// TargetSyncOK is the only value of TargetSyncLabel.
	TargetSyncOK = "ok"

	// EncompassedByLabel is the name of the installation that contains a nested one.
	EncompassedByLabel = GroupName + "/encompassed-by"
	// ExecutionManagedByLabel is the name of the execution that owns a deploy item.
	ExecutionManagedByLabel = "execution." + GroupName + "/managed-by"
	// ExecutionManagedNameLabel is the name that the execution gives to a deploy item.
	ExecutionManagedNameLabel = "execution." + GroupName + "/name"

	// DataObjectContextLabel is the installation in whose scope a DataObject or Target lives; none at the root.
	DataObjectContextLabel = "data." + GroupName + "/context"
	// DataObjectSourceTypeLabel says whether a DataObject or Target is an import or an export.
	DataObjectSourceTypeLabel = "data." + GroupName + "/sourceType"
	// DataObjectKeyLabel is the name by which imports and exports refer to a DataObject or Target.
	DataObjectKeyLabel = "data." + GroupName + "/key"
	// DataObjectSourceLabel is the installation or execution that wrote a DataObject or Target.
	DataObjectSourceLabel = "data." + GroupName + "/source"
	// DataObjectIndexLabel is the position of a Target in a target list.
	DataObjectIndexLabel = "data." + GroupName + "/index"
	// DataObjectTargetMapKeyLabel is the key of a Target in a target map.
	DataObjectTargetMapKeyLabel = "data." + GroupName + "/targetmapkey"
	// DataObjectJobIDLabel is the job that wrote a DataObject or Target.
	DataObjectJobIDLabel = "data." + GroupName + "/jobid"
)

// Values of DataObjectSourceTypeLabel.
const (
	DataObjectSourceImport = "import"
	DataObjectSourceExport = "export"
)

// Prefixes of object names in the values of labels such as DataObjectContextLabel. A label value has at most 63
// characters, which limits the name of an installation to 58.
const (
	InstallationPrefix = "Inst."
	ExecutionPrefix    = "Exec."
)

// InlineComponentDescriptorLabel is the label of a component reference that carries the referenced descriptor.
const InlineComponentDescriptorLabel = GroupName + "/component-descriptor"

// ExportSecretKey is the key of the Secret in which a deploy item's exports are stored.
const ExportSecretKey = "config"

// BlueprintFileName is the file of a blueprint's directory that holds the Blueprint.
const BlueprintFileName = "blueprint.yaml"
