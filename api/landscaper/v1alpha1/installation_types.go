// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Installation installs a component: it names a blueprint and says where the blueprint's imports come from and where its
// exports go.
//
// Nothing happens until a job is requested: annotate a root installation with
// landscaper.gardener.cloud/operation=reconcile, or choose spec.flow Continuous.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=inst,categories=espalier
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Execution",type=string,JSONPath=`.status.executionRef.name`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
// +kubebuilder:validation:XValidation:rule="oldSelf.hasValue() || (size(self.metadata.name) <= 58 && self.metadata.name.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$'))",optionalOldSelf=true,fieldPath=".metadata",message="the name must have at most 58 characters (generateName 53), only lower-case letters, digits and '-', and begin and end with a letter or digit: choose another name, it becomes part of label values"
// +kubebuilder:validation:XValidation:rule=`(has(self.spec.flow) ? self.spec.flow : "Job") == (has(oldSelf.spec.flow) ? oldSelf.spec.flow : "Job") || !has(self.status) || ((!has(self.status.phase) || self.status.phase in ["", "Succeeded", "Failed", "Aborted"]) && (has(self.status.jobID) ? self.status.jobID : "") == (has(self.status.jobIDFinished) ? self.status.jobIDFinished : ""))`,fieldPath=".spec.flow",message="flow can only be changed while the installation is at rest: wait until status.phase is Succeeded, Failed or Aborted and status.jobIDFinished equals status.jobID, or end the run with the annotation landscaper.gardener.cloud/operation=interrupt, in the continuous flow operation=abort"
type Installation struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec says what to install.
	// +required
	Spec InstallationSpec `json:"spec"`

	// status says how far the installation has come. It is written by controllers.
	// +optional
	Status InstallationStatus `json:"status,omitzero"`
}

// InstallationList is a list of Installations.
//
// +kubebuilder:object:root=true
type InstallationList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Installation `json:"items"`
}

// Flow is the way in which an installation and everything below it is processed.
//
// +kubebuilder:validation:Enum=Job;Continuous
type Flow string

const (
	// FlowJob processes a tree of installations in jobs, on request.
	FlowJob Flow = "Job"
	// FlowContinuous processes installations whenever their spec or their imports change.
	FlowContinuous Flow = "Continuous"
)

// OrDefault returns the flow, or FlowJob if none is chosen.
func (f Flow) OrDefault() Flow {
	if f == "" {
		return FlowJob
	}
	return f
}

// InstallationSpec says what to install.
type InstallationSpec struct {
	// context is the name of the Context with the registries and credentials to use. If it is empty, it is "default".
	// +optional
	Context string `json:"context,omitempty"`

	// flow is the way in which the installation is processed. Job (default): nothing happens until a job is
	// requested, and a job works on the whole tree with one consistent set of data. Continuous: a change of the spec or
	// of an import is enough. Only root installations choose; nested ones follow their root. It can be changed only
	// while the installation is at rest.
	// +optional
	Flow Flow `json:"flow,omitempty"`

	// verification requires a valid signature of the component before anything is installed.
	// +optional
	Verification *Verification `json:"verification,omitempty"`

	// componentDescriptor names the component that contains the blueprint and what it deploys. A blueprint that is
	// given inline may do without.
	// +optional
	ComponentDescriptor *ComponentDescriptorDefinition `json:"componentDescriptor,omitempty"`

	// blueprint says how to install the component.
	// +required
	Blueprint BlueprintDefinition `json:"blueprint"`

	// revisionField names the field of this spec that holds the revision of the installation, for pipelines: they read it
	// there, and the strategy installation writes it there. One of blueprint.oci.reference, whose tag it is,
	// blueprint.git.revision, and importDataMappings.NAME, which must be a text. If it is not set, the revision is the
	// version of the component.
	// +optional
	// +kubebuilder:validation:Pattern=`^(blueprint\.oci\.reference|blueprint\.git\.revision|importDataMappings\..+)$`
	RevisionField string `json:"revisionField,omitempty"`

	// imports say where the blueprint's imports come from.
	// +optional
	Imports InstallationImports `json:"imports,omitzero"`

	// importDataMappings restructure the imported data for the blueprint. Each key is the name of a blueprint import,
	// each value a spiff template over the data imports of this installation. An import without a mapping is passed on
	// as it is.
	// +optional
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	ImportDataMappings map[string]AnyJSON `json:"importDataMappings,omitempty"`

	// exports say where the blueprint's exports go.
	// +optional
	Exports InstallationExports `json:"exports,omitzero"`

	// exportDataMappings restructure the data that the blueprint exports. Each key is the name of a data export of this
	// installation, each value a spiff template over the exports of the blueprint. An export without a mapping is
	// passed on as it is.
	// +optional
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	ExportDataMappings map[string]AnyJSON `json:"exportDataMappings,omitempty"`

	// automaticReconcile starts jobs automatically at certain times. Without it, jobs start only on request.
	// +optional
	AutomaticReconcile *AutomaticReconcile `json:"automaticReconcile,omitempty"`

	// optimization spares the search for siblings that exchange data with this installation, which helps when a
	// namespace holds very many root installations.
	// +optional
	Optimization *Optimization `json:"optimization,omitempty"`
}

// Verification says which signature of the component must be valid.
type Verification struct {
	// signatureName is the name of the signature in the component descriptor. The Context says which keys or
	// certificates are trusted for it.
	// +required
	SignatureName string `json:"signatureName"`
}

// ComponentDescriptorDefinition names a component, or contains its description.
//
// +kubebuilder:validation:XValidation:rule="has(self.ref) != has(self.inline) || (oldSelf.hasValue() && has(oldSelf.value().ref) == has(oldSelf.value().inline))",optionalOldSelf=true,message="set exactly one of ref and inline"
type ComponentDescriptorDefinition struct {
	// ref names a component in a repository.
	// +optional
	Reference *ComponentDescriptorReference `json:"ref,omitempty"`

	// inline is a component descriptor itself.
	// +optional
	// +kubebuilder:validation:Type=object
	Inline *AnyJSON `json:"inline,omitempty"`
}

// ComponentDescriptorReference names a version of a component in a repository.
type ComponentDescriptorReference struct {
	// repositoryContext says where the repository is. If it is not set, the one of the Context is used.
	// +optional
	// +kubebuilder:validation:Type=object
	RepositoryContext *AnyJSON `json:"repositoryContext,omitempty"`

	// componentName is the name of the component, for example example.com/echo.
	// +required
	ComponentName string `json:"componentName"`

	// version of the component.
	// +required
	Version string `json:"version"`
}

// BlueprintDefinition names a blueprint, or contains it.
//
// +kubebuilder:validation:XValidation:rule="[has(self.ref), has(self.inline), has(self.oci), has(self.git)].exists_one(set, set) || (oldSelf.hasValue() && ![has(oldSelf.value().ref), has(oldSelf.value().inline), has(oldSelf.value().oci), has(oldSelf.value().git)].exists_one(set, set))",optionalOldSelf=true,message="set exactly one of ref, inline, oci and git"
type BlueprintDefinition struct {
	// ref names a blueprint in the component that spec.componentDescriptor names.
	// +optional
	Reference *RemoteBlueprintReference `json:"ref,omitempty"`

	// inline is the blueprint itself.
	// +optional
	Inline *InlineBlueprint `json:"inline,omitempty"`

	// oci takes the blueprint from an artifact in an OCI registry, without a component. Credentials are those of the
	// Context.
	// +optional
	OCI *OCIBlueprint `json:"oci,omitempty"`

	// git takes the blueprint from a directory of a Git repository, without a component.
	// +optional
	Git *GitBlueprint `json:"git,omitempty"`
}

// OCIBlueprint names a blueprint that is an OCI artifact.
type OCIBlueprint struct {
	// reference is the artifact, with a tag, a digest or both, for example registry.example.com/blueprints/shop:1.2.0. A
	// tag is looked up when a job or an update starts; status.blueprintRevision says what was found.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Reference string `json:"reference"`
}

// GitBlueprint names a blueprint that is a directory of a Git repository.
type GitBlueprint struct {
	// url of the repository, for example https://git.example.com/team/blueprints.git.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	URL string `json:"url"`

	// revision is a branch, a tag or the hash of a commit. A branch or tag is looked up when a job or an update starts;
	// status.blueprintRevision says which commit was found.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=250
	Revision string `json:"revision"`

	// path is the directory of the blueprint in the repository. If it is not set, that is the whole repository.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Path string `json:"path,omitempty"`

	// secretRef names a Secret of the same namespace with the keys username and password, or token; and with caFile, if
	// the server has a certificate of a private authority. Without it the repository is read anonymously.
	// +optional
	SecretReference *LocalObjectReference `json:"secretRef,omitempty"`
}

// RemoteBlueprintReference names a blueprint among the resources of a component.
type RemoteBlueprintReference struct {
	// resourceName is the name of the resource in the component descriptor.
	// +required
	ResourceName string `json:"resourceName"`
}

// InlineBlueprint contains a blueprint.
type InlineBlueprint struct {
	// filesystem is the blueprint's directory. Each key is the name of a file or directory; the value is the content of
	// the file, or an object for a directory. blueprint.yaml at the top is the blueprint.
	// +required
	Filesystem AnyJSON `json:"filesystem"`
}

// InstallationImports say where imports come from.
//
// +kubebuilder:validation:XValidation:rule="(oldSelf.hasValue() && oldSelf.value() == self) || [(has(self.data) ? self.data.map(d, d.name) : []) + (has(self.targets) ? self.targets.map(t, t.name) : [])].all(names, size(names.transformMapEntry(i, name, {name: true})) == size(names))",optionalOldSelf=true,message="names of imports must be unique: rename the data or target imports that share one"
type InstallationImports struct {
	// data are the imports of JSON values from DataObjects, Secrets or ConfigMaps.
	// +optional
	Data []DataImport `json:"data,omitempty"`

	// targets are the imports of Targets: single ones, lists or maps.
	// +optional
	// +kubebuilder:validation:MaxItems=300
	Targets []TargetImport `json:"targets,omitempty"`
}

// DataImport says where one data import comes from.
//
// +kubebuilder:validation:XValidation:rule=`(self.?dataRef.orValue("") != "" ? 1 : 0) + (has(self.secretRef) ? 1 : 0) + (has(self.configMapRef) ? 1 : 0) == 1`,message="set exactly one of dataRef, secretRef and configMapRef"
// +kubebuilder:validation:XValidation:rule=`(!has(self.secretRef) || self.secretRef.name != "") && (!has(self.configMapRef) || self.configMapRef.name != "")`,message="the name in secretRef or configMapRef must not be empty"
type DataImport struct {
	// name of the import in this installation: the name of a blueprint import, or one that importDataMappings use.
	// +required
	// +kubebuilder:validation:MinLength=1
	Name string `json:"name"`

	// dataRef is the name of a DataObject: one that another installation exports, or, at the root, one that a user
	// created.
	// +optional
	DataRef string `json:"dataRef,omitempty"`

	// version has no effect. It is accepted because older manifests contain it.
	// +optional
	Version string `json:"version,omitempty"`

	// secretRef takes the value from a Secret. Only root installations may do that.
	// +optional
	SecretRef *LocalSecretReference `json:"secretRef,omitempty"`

	// configMapRef takes the value from a ConfigMap. Only root installations may do that.
	// +optional
	ConfigMapRef *LocalConfigMapReference `json:"configMapRef,omitempty"`
}

// TargetImport says where one target import comes from.
//
// +kubebuilder:validation:XValidation:rule=`(self.?target.orValue("") != "" ? 1 : 0) + (has(self.targets) ? 1 : 0) + (self.?targetListRef.orValue("") != "" ? 1 : 0) + (has(self.targetMap) ? 1 : 0) + (self.?targetMapRef.orValue("") != "" ? 1 : 0) == 1`,message="set exactly one of target, targets, targetListRef, targetMap and targetMapRef"
type TargetImport struct {
	// name of the import: the name of a blueprint import.
	// +required
	// +kubebuilder:validation:MinLength=1
	Name string `json:"name"`

	// target is the name of a Target, for a blueprint import of type target.
	// +optional
	Target string `json:"target,omitempty"`

	// targets are names of Targets, for a blueprint import of type targetList. An empty list is a value: a target list
	// without targets.
	// +optional
	// +kubebuilder:validation:items:MinLength=1
	Targets []string `json:"targets,omitzero"`

	// targetListRef is the name of a target list that the parent installation imports. Only nested installations can
	// use it.
	// +optional
	TargetListReference string `json:"targetListRef,omitempty"`

	// targetMap maps keys to names of Targets, for a blueprint import of type targetMap. Keys have at most 63
	// characters, lower-case letters, digits, '-' and '.', and begin and end with a letter or digit.
	// +optional
	// +kubebuilder:validation:MaxProperties=2000
	// +kubebuilder:validation:XValidation:rule="self.all(key, key.matches('^[a-z0-9]([a-z0-9.-]{0,61}[a-z0-9])?$'))",message="keys must have at most 63 characters, only lower-case letters, digits, '-' and '.', and begin and end with a letter or digit"
	// +kubebuilder:validation:XValidation:rule=`self.all(key, self[key] != "")`,message="the name of a Target must not be empty: name one for each key, or remove the key"
	TargetMap map[string]string `json:"targetMap,omitempty"`

	// targetMapRef is the name of a target map that the parent installation imports. Only nested installations can use
	// it.
	// +optional
	TargetMapReference string `json:"targetMapRef,omitempty"`
}

// InstallationExports say where exports go.
type InstallationExports struct {
	// data are the exports that become DataObjects.
	// +optional
	// +kubebuilder:validation:XValidation:rule="(oldSelf.hasValue() && oldSelf.value() == self) || size(self.transformMapEntry(i, export, {export.name: true})) == size(self)",optionalOldSelf=true,message="names of exports must be unique: rename or remove the ones that share one"
	Data []DataExport `json:"data,omitempty"`

	// targets are the exports that become Targets.
	// +optional
	// +kubebuilder:validation:XValidation:rule="(oldSelf.hasValue() && oldSelf.value() == self) || size(self.transformMapEntry(i, export, {export.name: true})) == size(self)",optionalOldSelf=true,message="names of exports must be unique: rename or remove the ones that share one"
	Targets []TargetExport `json:"targets,omitempty"`
}

// DataExport says where one data export goes.
type DataExport struct {
	// name of the export: the name of a blueprint export, or one that exportDataMappings produce.
	// +required
	// +kubebuilder:validation:MinLength=1
	Name string `json:"name"`

	// dataRef is the name by which other installations import the value. At the root it is the name of a DataObject.
	// +required
	// +kubebuilder:validation:MinLength=1
	DataRef string `json:"dataRef"`
}

// TargetExport says where one target export goes.
type TargetExport struct {
	// name of the export: the name of a blueprint export.
	// +required
	// +kubebuilder:validation:MinLength=1
	Name string `json:"name"`

	// target is the name by which other installations import the value. At the root it is the name of a Target.
	// +required
	// +kubebuilder:validation:MinLength=1
	Target string `json:"target"`
}

// AutomaticReconcile starts jobs automatically at certain times.
type AutomaticReconcile struct {
	// succeededReconcile starts a new job some time after one that succeeded.
	// +optional
	SucceededReconcile *SucceededReconcile `json:"succeededReconcile,omitempty"`

	// failedReconcile starts a new job some time after one that failed.
	// +optional
	FailedReconcile *FailedReconcile `json:"failedReconcile,omitempty"`
}

// SucceededReconcile says when to start a new job after one that succeeded.
type SucceededReconcile struct {
	// interval between the end of a job and the start of the next. If it is not set, it is 24h.
	// +optional
	Interval *Duration `json:"interval,omitempty"`

	// cronSpec is a schedule of five fields (minute, hour, day of month, month, day of week), or a word such as @daily.
	// If it is set, interval does not count.
	// +optional
	CronSpec CronSpec `json:"cronSpec,omitempty"`
}

// FailedReconcile says when to start a new job after one that failed.
type FailedReconcile struct {
	// numberOfReconciles is how many jobs in a row are started automatically for one generation of the spec; 0 for none
	// (default: no limit).
	// +optional
	NumberOfReconciles *int32 `json:"numberOfReconciles,omitempty"`

	// interval between the end of a job and the start of the next. If it is not set, it is 5m.
	// +optional
	Interval *Duration `json:"interval,omitempty"`

	// cronSpec is a schedule of five fields (minute, hour, day of month, month, day of week), or a word such as @daily.
	// If it is set, interval does not count.
	// +optional
	CronSpec CronSpec `json:"cronSpec,omitempty"`
}

// CronSpec is a schedule in the syntax of cron. The rule knows its outline only; what a field may contain is checked by
// whoever uses the schedule.
//
// +kubebuilder:validation:MaxLength=1000
// +kubebuilder:validation:XValidation:rule=`self == "" || self.matches(r'^((CRON_)?TZ=[^ ]* )?\s*(@(yearly|annually|monthly|weekly|daily|midnight|hourly)\s*|@every .+|[^\s\v\x{85}\pZ@][^\s\v\x{85}\pZ]*([\s\v\x{85}\pZ]+[^\s\v\x{85}\pZ]+){4}[\s\v\x{85}\pZ]*)$')`,message="must be a schedule of five fields such as '0 6 * * 1-5', one of @yearly, @monthly, @weekly, @daily and @hourly, or '@every 6h'"
type CronSpec string

// Optimization spares work that is not needed.
type Optimization struct {
	// hasNoSiblingImports promises that no sibling exports anything that this installation imports.
	// +optional
	HasNoSiblingImports bool `json:"hasNoSiblingImports,omitempty"`

	// hasNoSiblingExports promises that no sibling imports anything that this installation exports.
	// +optional
	HasNoSiblingExports bool `json:"hasNoSiblingExports,omitempty"`
}

// InstallationStatus says how far an installation has come.
type InstallationStatus struct {
	RunStatus `json:",inline"`

	// subInstCache lists the nested installations. If it is not set, they must be looked up.
	// +optional
	SubInstCache *SubInstCache `json:"subInstCache,omitempty"`

	// executionRef names the Execution that deploys the deploy items of the blueprint.
	// +optional
	ExecutionReference *ObjectReference `json:"executionRef,omitempty"`

	// importsHash is a hash of all imports that the current or last job used.
	// +optional
	ImportsHash string `json:"importsHash,omitempty"`

	// blueprintRevision is what the tag, branch or revision of a blueprint from OCI or Git led to when the current or last
	// job or update started: the digest of the artifact, or the commit.
	// +optional
	BlueprintRevision string `json:"blueprintRevision,omitempty"`

	// configGeneration changes whenever an update takes a new spec or new imports into account. Installations that
	// import from this one compare it with what they used. Continuous flow only.
	// +optional
	ConfigGeneration string `json:"configGeneration,omitempty"`

	// imports are the versions of the imports that the last update used. Continuous flow only.
	// +optional
	// +listType=map
	// +listMapKey=name
	Imports []ImportStatus `json:"imports,omitempty"`

	// automaticReconcileStatus counts the jobs that spec.automaticReconcile has started.
	// +optional
	AutomaticReconcileStatus *AutomaticReconcileStatus `json:"automaticReconcileStatus,omitempty"`

	// stateSecrets are the names of the Secrets in which templates of the blueprint keep values from job to job, such as
	// generated passwords.
	// +optional
	StateSecrets []string `json:"stateSecrets,omitempty"`

	// dependentsToTrigger are installations that import from this one and must still be notified of its new exports.
	// +optional
	DependentsToTrigger []DependentToTrigger `json:"dependentsToTrigger,omitempty"`

	// lastRuns are the last five runs that have ended, the latest first. Root installations have them.
	// +optional
	// +kubebuilder:validation:MaxItems=5
	LastRuns []EndedRun `json:"lastRuns,omitempty"`

	// history are the last five specs that jobs or updates took into account, the latest first. Root installations have
	// them. The command espalier history shows them, and espalier rollback brings one back.
	// +optional
	// +kubebuilder:validation:MaxItems=5
	History []SpecRevision `json:"history,omitempty"`
}

// SpecRevision is a spec that a job, or in the continuous flow an update, took into account. Jobs with the same spec one
// after the other share a revision.
type SpecRevision struct {
	// revision counts the specs of the installation, from 1.
	// +required
	Revision int64 `json:"revision"`

	// jobID is the last job with this spec. It is not set in the continuous flow.
	// +optional
	JobID string `json:"jobID,omitempty"`

	// generation is the metadata.generation that the last job or update with this spec took into account.
	// +optional
	Generation int64 `json:"generation,omitempty"`

	// startTime is when the last job or update with this spec started.
	// +required
	StartTime metav1.Time `json:"startTime"`

	// endTime is when it ended. It is not set while it runs, nor if another spec came before its end.
	// +optional
	EndTime *metav1.Time `json:"endTime,omitempty"`

	// result is the phase in which it ended: Succeeded, Failed or Aborted.
	// +optional
	Result Phase `json:"result,omitempty"`

	// succeededTime is when a job or update with this spec last succeeded.
	// +optional
	SucceededTime *metav1.Time `json:"succeededTime,omitempty"`

	// componentName is the component that the spec names.
	// +optional
	ComponentName string `json:"componentName,omitempty"`

	// componentVersion is the version of the component that the spec names.
	// +optional
	ComponentVersion string `json:"componentVersion,omitempty"`

	// specHash is a hash of the spec. Equal specs have equal hashes.
	// +required
	SpecHash string `json:"specHash"`

	// spec is the spec as JSON, compressed with gzip. It is not set if it is too large, or was dropped in favour of later
	// ones: together they have at most 128 KiB.
	// +optional
	Spec []byte `json:"spec,omitempty"`

	// specTooLarge is true if the spec has more than 512 KiB, or more than 64 KiB compressed. Such a spec is not kept.
	// +optional
	SpecTooLarge bool `json:"specTooLarge,omitempty"`
}

// EndedRun is a job that has ended, or in the continuous flow an update.
type EndedRun struct {
	// id is the ID of the job, or in the continuous flow the configGeneration.
	// +optional
	ID string `json:"id,omitempty"`

	// phase is how it ended.
	// +required
	Phase Phase `json:"phase"`

	// startTime is when it started.
	// +optional
	StartTime *metav1.Time `json:"startTime,omitempty"`

	// endTime is when it ended.
	// +required
	EndTime metav1.Time `json:"endTime"`

	// generation is the metadata.generation that it took into account.
	// +optional
	Generation int64 `json:"generation,omitempty"`

	// message says why it failed.
	// +optional
	Message string `json:"message,omitempty"`
}

// SubInstCache lists nested installations.
type SubInstCache struct {
	// activeSubs are the nested installations that the blueprint contains.
	// +optional
	ActiveSubs []NamePair `json:"activeSubs,omitempty"`

	// orphanedSubs are the names of nested installations that the blueprint no longer contains and that are being
	// deleted.
	// +optional
	OrphanedSubs []string `json:"orphanedSubs,omitempty"`
}

// ImportStatus is the version of an import that the last update used.
type ImportStatus struct {
	// name of the import in spec.imports.
	// +required
	Name string `json:"name"`

	// sourceRef names the installation that exported the value. If it is not set, none did.
	// +optional
	SourceReference *ObjectReference `json:"sourceRef,omitempty"`

	// configGeneration is status.configGeneration of the installation that exported the value, or, if there is none, a
	// hash of the value.
	// +optional
	ConfigGeneration string `json:"configGeneration,omitempty"`
}

// AutomaticReconcileStatus counts jobs that were started automatically.
type AutomaticReconcileStatus struct {
	// generation of the installation that the counter is for. The counter starts again with a new one.
	// +optional
	Generation int64 `json:"generation,omitempty"`

	// numberOfReconciles is how many jobs were started.
	// +optional
	NumberOfReconciles int32 `json:"numberOfReconciles,omitempty"`

	// lastReconcileTime is when the last of them was started.
	// +optional
	LastReconcileTime *metav1.Time `json:"lastReconcileTime,omitempty"`

	// onFailed is true if the last of them was started because the one before had failed.
	// +optional
	OnFailed bool `json:"onFailed,omitempty"`
}

// DependentToTrigger is an installation that must still be notified of new exports.
type DependentToTrigger struct {
	// name of the installation.
	// +optional
	Name string `json:"name,omitempty"`
}
