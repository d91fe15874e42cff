// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package reference

// word is a reason that the product uses in conditions, errors and events.
type word struct {
	is string
	// text says what it means.
	text string
	// do says what to do about it; it is required for words of errors.
	do string
}

// area is a part of the product whose words are explained together.
type area struct {
	title string
	words []word
}

// Advice that several errors share.
const (
	fixAndRetry  = "Fix what the message names, then start a new job: `espalier reconcile ROOT --wait`."
	fixBlueprint = "Fix the blueprint (`espalier blueprint validate` and `espalier render` find most mistakes without a cluster), " +
		"then start a new job."
	fixByItself  = "Fix what the message names. The controllers retry automatically, with backoff."
	fixTarget    = "Fix the Target, the Secret that it refers to, or the rights in its cluster. The controllers retry automatically."
	waitRegistry = "Wait, or check the registry and the network. The controllers retry automatically."
	fixPromotion = "Fix what the message names, then run `espalier retry PIPELINE ENVIRONMENT`."
	reportBug    = "Report it with the output of `espalier bug-report`."
	newJob       = "Start a new job: `espalier reconcile ROOT --wait`."
)

// failures are the reasons of errors.
var failures = []area{
	{title: "Jobs, data flow and deletion", words: []word{
		{is: "Error", text: "An unclassified error; the message says what happened.", do: fixByItself},
		{
			is:   "PredecessorFailed",
			text: "A sibling that exports an import of this installation failed.",
			do:   "Fix the sibling first; `espalier why` leads to it.",
		},
		{
			is:   "SubObjectFailed",
			text: "A nested installation, the execution or a deploy item failed.",
			do:   "Fix what failed below; `espalier why` leads to it.",
		},
		{
			is:   "SubObjectAborted",
			text: "A nested installation or the execution was aborted.",
			do:   "Change the spec, or request a reconcile.",
		},
		{is: "SubObjectDeleted", text: "A nested object was deleted while the job was running.", do: newJob},
		{
			is:   "SubObjectNotDeleted",
			text: "Something below could not be deleted.",
			do:   "Fix what blocks the deletion; `espalier why` leads to it. Then request a reconcile.",
		},
		{is: "OrphanNotDeleted", text: "An object that the blueprint no longer contains could not be deleted.", do: fixAndRetry},
		{
			is:   "SuccessorNotDeleted",
			text: "A sibling that imports from this installation could not be deleted.",
			do:   "Fix the sibling first; `espalier why` leads to it.",
		},
		{is: "SpecChanged", text: "The spec changed while the job was running.", do: newJob},
		{is: "ImportsChanged", text: "An import changed while the job was running, so its exports would not match.", do: newJob},
		{is: "Interrupted", text: "The job was interrupted.", do: newJob},
		{is: "Aborted", text: "The continuous flow was aborted.", do: "Change the spec, or request a reconcile."},
		{is: "Failed", text: "The job failed; the message says why.", do: fixAndRetry},
		{
			is:   "DeleteFailed",
			text: "The deletion failed; the message says why.",
			do:   "Fix what the message names, then start a new job, which retries the deletion.",
		},
		{
			is:   "Standstill",
			text: "Nothing below can continue, because of what failed there.",
			do:   "Fix what failed below; `espalier why` leads to it.",
		},
		{is: "ExportsGone", text: "Objects that this installation exported are gone.", do: newJob},
		{
			is:   "FlowChangeRefused",
			text: "`spec.flow` changed while it cannot be changed.",
			do:   "Wait until the job or the update ends, or change it back.",
		},
		{
			is:   "ImportNotFound",
			text: "The object of an import does not exist. It may still come.",
			do:   "Create the DataObject, Target, Secret or ConfigMap, or correct the import.",
		},
		{
			is:   "ImportOutdated",
			text: "The object of an import belongs to an older job of the installation that exports it.",
			do:   "Wait for the exporter; `espalier why` names it.",
		},
		{is: "ImportInvalid", text: "An import cannot be read, or is declared wrongly.", do: fixAndRetry},
		{is: "ImportNotSatisfied", text: "Nothing provides what the blueprint or a nested installation imports.", do: fixAndRetry},
		{is: "DataMappingFailed", text: "A data mapping could not be computed.", do: fixAndRetry},
		{is: "ExportInvalid", text: "An export is missing, or is not what the blueprint declares.", do: fixBlueprint},
		{
			is:   "ExportConflict",
			text: "Two installations export to the same object, or one exports to an import of its parent.",
			do:   "Rename one of the exports, then start a new job.",
		},
		{is: "InvalidInstallationTemplate", text: "The blueprint declares a nested installation wrongly.", do: fixBlueprint},
		{is: "InvalidSubObject", text: "The API server rejected a nested installation or the execution.", do: fixBlueprint},
		{
			is:   "NameTaken",
			text: "An object of that name exists and belongs to something else.",
			do:   "Delete or rename one of the two, then start a new job.",
		},
		{is: "CyclicDependencies", text: "Installations or deploy items depend on each other in a circle.", do: fixBlueprint},
		{is: "InvalidDependencies", text: "A dependency names something that does not exist, or a name is used twice.", do: fixBlueprint},
		{
			is:   "QuotaExceeded",
			text: "The namespace may not have as much as the job needs.",
			do:   "Delete what is no longer needed, or ask an administrator to raise the quota; see [quotas](../quotas.md).",
		},
		{is: "TooManyCalls", text: "The templates of a blueprint call clusters too often.", do: fixBlueprint},
		{is: "InvalidDeployItems", text: "The deploy items of an execution cannot be read or ordered.", do: fixBlueprint},
		{
			is:   "DeployItemsFailed",
			text: "Deploy items failed.",
			do:   "`espalier why` leads to the deploy item; fix it, then start a new job.",
		},
		{
			is:   "DeployItemsNotDeleted",
			text: "Deploy items could not be deleted.",
			do:   "`espalier why` leads to the deploy item; fix it, then start a new job.",
		},
		{is: "ExportsUnusable", text: "The exports of a deploy item are missing or cannot be read.", do: newJob},
	}},
	{title: "Blueprints, components and registries", words: []word{
		{is: "InvalidBlueprint", text: "A file of the blueprint has mistakes; the message lists them.", do: fixBlueprint},
		{is: "BlueprintInvalid", text: "The installation names no usable blueprint.", do: fixAndRetry},
		{
			is:   "BlueprintNotFound",
			text: "The registry or repository does not have the blueprint.",
			do:   "Push the blueprint, or correct the reference.",
		},
		{is: "TemplateInvalid", text: "A template cannot be parsed.", do: fixBlueprint},
		{is: "TemplateFailed", text: "A template cannot be rendered with its input.", do: fixBlueprint},
		{
			is:   "TemplateLimitReached",
			text: "A template used more steps, output or memory than it may.",
			do:   "Simplify the template; see [the limits](../templates.md).",
		},
		{is: "InvalidSchema", text: "A schema of the blueprint cannot be used.", do: fixBlueprint},
		{
			is:   "SchemaValidationFailed",
			text: "A value does not match its schema.",
			do:   "Correct the value, or the schema in the blueprint, then start a new job.",
		},
		{
			is:   "SchemaTooExpensive",
			text: "Checking a value against its schema would take too many steps.",
			do:   "Simplify the schema, then start a new job.",
		},
		{
			is:   "ContextNotFound",
			text: "The Context, or an object that it names, does not exist.",
			do:   "Create it, or correct `spec.context`. The controllers retry automatically.",
		},
		{is: "ContextInvalid", text: "The Context, or an object that it names, cannot be understood.", do: fixAndRetry},
		{
			is:   "ComponentInvalid",
			text: "The component, or one that it refers to, is not a usable component descriptor.",
			do:   "Fix the component and push it again, then start a new job.",
		},
		{
			is:   "ComponentNotFound",
			text: "The repository does not have the component version.",
			do:   "Push it, or correct the version. The controllers retry automatically.",
		},
		{is: "ResourceInvalid", text: "A reference does not lead to a resource that can be used.", do: fixAndRetry},
		{
			is:   "ResourceNotFound",
			text: "The repository does not have the content of a resource.",
			do:   "Push it, or correct the reference. The controllers retry automatically.",
		},
		{
			is:   "RepositoryContextMissing",
			text: "Neither the installation nor its Context says where components are.",
			do:   "Set `repositoryContext` in the Context or the installation, then start a new job.",
		},
		{is: "RepositoryInvalid", text: "A repository context cannot be understood.", do: fixAndRetry},
		{is: "RepositoryUnavailable", text: "A repository could not be read.", do: waitRegistry},
		{is: "VerificationUnavailable", text: "The signature that the installation requires cannot be checked.", do: fixAndRetry},
		{
			is:   "SignatureInvalid",
			text: "A signature is missing, does not match the component, or comes from another key.",
			do:   "Sign the component again, or correct the key in the Context. Do not install it before you know why.",
		},
		{
			is:   "RegistryCredentialsRefused",
			text: "The registry requires credentials, or different ones.",
			do:   "Correct the pull secret in the Context; see [private registries](../how-to/private-registry.md).",
		},
		{is: "RegistryForbidden", text: "The credentials do not permit it.", do: "Give them the right to pull, or use others."},
		{
			is:   "RegistryNotFound",
			text: "The registry does not have it. It may be pushed later.",
			do:   "Push it, or correct the reference. The controllers retry automatically.",
		},
		{
			is:   "RegistryWrongDigest",
			text: "The content is not what its digest says.",
			do:   "Push it again. If that does not help, do not trust the registry, or a proxy in between.",
		},
		{is: "RegistryContentTooLarge", text: "The content exceeds a limit.", do: "Make it smaller; the message names the limit."},
		{
			is:   "RegistryContentMalformed",
			text: "The content, or the answer of the registry, is not what it should be. Often a proxy answered instead.",
			do:   fixAndRetry,
		},
		{is: "RegistryMisconfigured", text: "An address or a credential is not usable.", do: fixAndRetry},
		{
			is:   "RegistryUntrusted",
			text: "The certificate of the registry is not trusted.",
			do:   "Make the controllers trust its authority, or correct the certificate.",
		},
		{
			is:   "RegistryRateLimited",
			text: "The registry got too many requests.",
			do:   "Wait, or use credentials with a higher limit. The controllers retry automatically.",
		},
		{is: "RegistryUnavailable", text: "The registry could not be reached, or failed.", do: waitRegistry},
	}},
	{title: "Targets and rights", words: []word{
		{
			is:   "NoTargetFound",
			text: "The Target of a deploy item does not exist.",
			do:   "Create the Target, or correct the import. The job then continues.",
		},
		{is: "NoCluster", text: "The deploy item names no Target, or one of another type.", do: fixBlueprint},
		{is: "TargetInvalid", text: "The content of a Target cannot be used.", do: fixTarget},
		{
			is:   "TargetAddressRefused",
			text: "A Target leads to an address that controllers must not dial.",
			do:   "Use another address, or ask an administrator to allow it; see [targets](../targets.md).",
		},
		{
			is:   "TargetSecretMissing",
			text: "The Secret of a Target, or the key in it, does not exist.",
			do:   "Create the Secret, or correct the Target. The controllers retry automatically.",
		},
		{is: "TargetTokenRefused", text: "The service account of a Target gets no token.", do: fixTarget},
		{
			is:   "TargetUnreachable",
			text: "The cluster of a Target does not answer.",
			do:   "Check the cluster and the network: `espalier check`. The controllers retry automatically.",
		},
		{
			is:   "TargetForbidden",
			text: "The credentials of a Target may not do it.",
			do:   "Give them the right that the message names. The controllers retry automatically.",
		},
		{is: "TargetRefused", text: "The API server of the target cluster rejected an object.", do: fixAndRetry},
		{
			is:   "TargetConflict",
			text: "Something else changed an object in the target cluster at the same moment.",
			do:   "Nothing. If it persists, find out which other client writes the object.",
		},
		{
			is:   "KindNotServed",
			text: "The cluster does not know the kind: its CRD is missing.",
			do:   "Install the CRD, or correct the kind. The controllers retry automatically.",
		},
		{
			is:   "ServiceAccountInvalid",
			text: "The Context names no service account of its namespace.",
			do:   "Correct the Context; see [tenancy](../tenancy.md).",
		},
		{
			is:   "RightMissing",
			text: "The service account of the namespace may not do it.",
			do:   "Give it the right that the message names; see [tenancy](../tenancy.md).",
		},
	}},
	{title: "Deployers", words: []word{
		{
			is:   "PickupTimeout",
			text: "No deployer picked up the deploy item in time.",
			do:   "Check that a deployer for the type of the deploy item runs and serves its target, then start a new job.",
		},
		{
			is:   "ProgressingTimeout",
			text: "The deployer did not finish in time.",
			do:   "`espalier tree --live` shows which objects are not ready. Fix them or raise `spec.timeout`, then start a new job.",
		},
		{is: "InvalidDeployItem", text: "The deploy item cannot be understood.", do: fixBlueprint},
		{
			is:   "InvalidConfiguration",
			text: "`config` of the deploy item has mistakes; the message lists them.",
			do:   "Correct the template in the blueprint; see [provider configurations](provider-configuration.md).",
		},
		{is: "InvalidExport", text: "A value to export cannot be read from the objects.", do: fixBlueprint},
		{is: "InvalidExports", text: "What the image exported cannot be understood.", do: "Correct the image, then start a new job."},
		{is: "ExportsRefused", text: "The exports could not be stored.", do: fixAndRetry},
		{
			is:   "UnreadableStatus",
			text: "The data of the deployer in the status cannot be read.",
			do:   "If a user wrote the status by hand, restore it. Otherwise report it.",
		},
		{is: "InternalProblem", text: "The deployer has a defect; its log says more.", do: reportBug},
		{
			is:   "ObjectFailed",
			text: "An object in the target cluster failed for good.",
			do:   "Look at the object: `espalier tree --live`. Fix it, then start a new job.",
		},
		{is: "installRelease", text: "Helm could not install the release.", do: fixAndRetry},
		{is: "upgradeRelease", text: "Helm could not upgrade the release.", do: fixAndRetry},
		{is: "uninstallRelease", text: "Helm could not uninstall the release.", do: fixAndRetry},
		{is: "testRelease", text: "A test of the chart failed.", do: "Look at the pods that the message names, then start a new job."},
		{
			is:   "RenderChart",
			text: "The chart cannot be rendered with these values.",
			do:   "Correct the values or the chart; `espalier render` shows the result without a cluster.",
		},
		{
			is:   "ReleaseTakenOver",
			text: "Another deploy item has taken over the release.",
			do:   "Give one of the two releases another name, then start a new job.",
		},
		{is: "InvalidChart", text: "The chart cannot be read.", do: "Correct the chart and push it again, then start a new job."},
		{is: "ChartNotFetched", text: "The chart could not be fetched.", do: fixByItself},
		{
			is:   "ContentNotFound",
			text: "The registry does not have what a container deploy item refers to.",
			do:   "Push it, or correct the reference. The controllers retry automatically.",
		},
		{is: "ContentInvalid", text: "What a container deploy item refers to cannot be used.", do: fixAndRetry},
		{is: "PodRefused", text: "The API server rejected the pod of a container deploy item.", do: fixAndRetry},
		{is: "PodLost", text: "The pod was removed while it ran.", do: newJob},
		{
			is:   "PodFailed",
			text: "The pod failed. If Kubernetes gives a reason, such as `Evicted`, the status has that reason instead.",
			do:   "Read the message and `kubectl describe pod`, then start a new job.",
		},
		{
			is:   "ContainerFailed",
			text: "The image ended with an error. If Kubernetes gives a reason, such as `OOMKilled`, the status has that reason instead.",
			do:   "Read the log of the pod, then start a new job.",
		},
		{is: "ResultNotStored", text: "The image succeeded, but its exports and state could not be stored.", do: fixAndRetry},
		{
			is:   "StateIncomplete",
			text: "A piece of the state that an earlier controller stored is missing.",
			do:   "Restore or delete the Secrets that the message names, then start a new job.",
		},
		{
			is:   "MockFailure",
			text: "The configuration of a mock deploy item requests a failure.",
			do:   "Nothing: the mock deployer is for tests.",
		},
	}},
	{title: "TargetSyncs", words: []word{
		{is: "TargetSyncInvalid", text: "The spec of the TargetSync has a mistake.", do: "Correct the spec."},
		{is: "TargetSyncNotAlone", text: "The namespace has another TargetSync.", do: "Delete one of the two."},
		{
			is:   "ObjectNotOurs",
			text: "An object of that name exists, and the TargetSync did not create it.",
			do:   "Delete or rename it. The controllers retry automatically.",
		},
		{is: "SynchronisationFailed", text: "The synchronisation failed; the message says why.", do: fixByItself},
	}},
	{title: "Pipelines: targets", words: []word{
		{is: "TargetClusterNotFound", text: "A `clusterRef` leads to no GitopsCluster.", do: "Create it, or correct the reference."},
		{is: "TargetClusterNotReady", text: "A GitopsCluster is known but not ready.", do: "Look at its conditions."},
		{is: "TargetNotReadable", text: "The application on a target cannot be read.", do: "`espalier pipeline status` says why."},
		{
			is:   "RefNotPermitted",
			text: "The pipeline refers to another namespace, which does not permit it.",
			do:   "Create a ReferenceGrant there, or correct the reference.",
		},
		{
			is:   "KindNotPermitted",
			text: "`spec.appRef` names a kind that pipelines may not follow.",
			do:   "Use another kind, or ask an administrator to allow it (`--application-kinds`).",
		},
		{
			is:   "EnvironmentNotReady",
			text: "The targets of an environment are not all healthy at one revision.",
			do:   "Look at the application on the targets.",
		},
		{
			is:   "KubeconfigMissing",
			text: "The Secret of a cluster, or the key in it, does not exist.",
			do:   "Create the Secret, or correct the GitopsCluster.",
		},
		{
			is:   "KubeconfigInvalid",
			text: "The kubeconfig of a cluster is rejected, or leads to an address that must not be dialled.",
			do:   "Correct the kubeconfig; the message names the field.",
		},
		{
			is:   "ClusterUnreachable",
			text: "A cluster does not answer.",
			do:   "Check the cluster and the network. The controllers retry automatically.",
		},
		{
			is:   "ClusterNotConnected",
			text: "The cluster of an environment is not connected yet.",
			do:   "Wait. If it persists, check the GitopsCluster.",
		},
		{is: "CredentialRefused", text: "A cluster rejects the credential.", do: "Correct the kubeconfig in the Secret."},
		{is: "Forbidden", text: "The credential may not list and watch the kind.", do: "Give it that right in the cluster."},
		{is: "NamespaceNotFound", text: "The namespace of an application does not exist.", do: "Create it, or correct the target."},
		{
			is:   "ApplicationNotFound",
			text: "The application does not exist on the target.",
			do:   "Deploy it there once, or correct the target.",
		},
		{
			is:   "RevisionMissing",
			text: "The application is ready but reports no revision.",
			do:   "Check that its controller writes a revision into the status.",
		},
		{is: "NotFollowed", text: "Nothing refers to the application any more.", do: "Nothing."},
		{is: "ReadFailed", text: "Something else keeps a cluster from being read; the message says what.", do: fixByItself},
	}},
	{title: "Pipelines: promotions", words: []word{
		{is: "AttemptFailed", text: "An attempt failed with an unclassified error.", do: fixPromotion},
		{
			is:   "RolledBack",
			text: "The environment went back to an earlier revision.",
			do:   "Find out why. Another revision, or a retry, promotes again.",
		},
		{
			is:   "NotArrived",
			text: "The revision was promoted, and the targets do not run it in time.",
			do:   "Find out why the targets do not take it. Another revision, or `espalier retry PIPELINE ENVIRONMENT`, promotes again.",
		},
		{
			is:   "Stalled",
			text: "The promoted revision does not arrive.",
			do:   "Find out why the targets do not take it. Another revision, or `espalier retry PIPELINE ENVIRONMENT`, promotes again.",
		},
		{
			is:   "Abandoned",
			text: "The pull request was closed without merging.",
			do:   "Reopen it, or run `espalier retry PIPELINE ENVIRONMENT`. Another revision is promoted without that.",
		},
		{
			is:   "Rejected",
			text: "A user has rejected the revision.",
			do:   "If the decision was wrong, run `espalier retry PIPELINE ENVIRONMENT`. Another revision is promoted without that.",
		},
		{is: "Invalid", text: "A field of the pipeline has a mistake.", do: "Correct the field that the message names."},
		{
			is:   "SecretMissing",
			text: "The Secret with the credentials for the Git server does not exist.",
			do:   "Create it. The controllers retry automatically.",
		},
		{
			is:   "SecretForbidden",
			text: "The controllers, or with `--tenancy=strict` the service account, may not read the Secret with the credentials for the Git server.",
			do:   "Grant the right that the message names; see [tenancy](../tenancy.md). The controllers retry automatically.",
		},
		{is: "PullRequestLeftOpen", text: "A pull request could not be closed and is left to you.", do: "Close it in the Git server."},
		{
			is:   "NotAnInstallation",
			text: "The strategy `installation` promotes to something that is not an Installation.",
			do:   "Correct `spec.appRef`, or use another strategy.",
		},
		{
			is:   "InstallationNotFound",
			text: "The Installation to promote to does not exist.",
			do:   "Create it, or correct the target. The controllers retry automatically.",
		},
		{is: "InstallationNotWritten", text: "The Installation could not be written.", do: fixByItself},
		{is: "InstallationRefused", text: "The API server rejected the change of the Installation.", do: fixPromotion},
		{is: "EventFailed", text: "The Event of a promotion by notification could not be created.", do: fixByItself},
		{
			is:   "EventsAddressInvalid",
			text: "The address of notification-controller is not usable.",
			do:   "Correct the flag of the controller.",
		},
		{
			is:   "EventNotSent",
			text: "notification-controller does not answer.",
			do:   "Check notification-controller. The controllers retry automatically.",
		},
		{is: "EventRefused", text: "notification-controller rejected the event.", do: fixByItself},
		{
			is:   "ForgeCredentialsRefused",
			text: "The Git server rejects the credentials.",
			do:   "Put a valid token into the Secret. The controllers then retry automatically.",
		},
		{
			is:   "ForgeForbidden",
			text: "The credentials do not permit it.",
			do:   "Give the token the rights in [git-servers](../git-servers.md).",
		},
		{
			is:   "ForgeNotFound",
			text: "The repository or pull request does not exist, or the credentials do not show it.",
			do:   "Correct the URL, or give the token access.",
		},
		{is: "ForgeRefused", text: "The Git server rejects the request; the message says why.", do: fixPromotion},
		{is: "ForgeMisconfigured", text: "The URL, the credentials or the address are not usable.", do: fixPromotion},
		{is: "PullRequestExists", text: "Such a pull request exists already.", do: "Nothing: the next attempt finds it."},
		{is: "ForgeConflict", text: "Something else changed at the same moment.", do: "Nothing: the controllers retry automatically."},
		{
			is:   "ForgeRateLimited",
			text: "The Git server got too many requests.",
			do:   "Nothing: the controllers retry when the server allows it.",
		},
		{
			is:   "ForgeUnavailable",
			text: "The Git server could not be reached, or failed.",
			do:   "Check the Git server and the network. The controllers retry automatically.",
		},
		{
			is:   "ForgeUntrusted",
			text: "The certificate of the Git server is not trusted.",
			do:   "Put its authority into the Secret, or correct the certificate.",
		},
		{
			is:   "ForgeAnswerMalformed",
			text: "The answer of the Git server cannot be understood. Often a proxy answered instead.",
			do:   "Check the URL and the proxies between.",
		},
		{is: "MarkerNotFound", text: "No file of the base branch carries the marker.", do: "Add the marker; see [markers](../markers.md)."},
		{is: "MarkedFileUnreadable", text: "A file with the marker cannot be rewritten.", do: "Correct the file in the base branch."},
		{
			is:   "BaseOverridden",
			text: "A marked value was set by hand and has not arrived in the environment yet.",
			do:   "Wait until it arrives, or set it back.",
		},
		{is: "BaseBranchNotFound", text: "The base branch does not exist.", do: "Create it, or correct the strategy."},
		{is: "BranchNotOurs", text: "The branch for the pull request has commits by another author.", do: "Merge or delete the branch."},
		{
			is:   "PullRequestNotOurs",
			text: "Another pull request comes from the same branch.",
			do:   "Close it, or rename its branch.",
		},
		{
			is:   "BranchContended",
			text: "Other clients pushed at the same time, several times in a row.",
			do:   "Nothing: the controllers retry automatically.",
		},
	}},
	{title: "Pipelines: rejected requests", words: []word{
		{
			is:   "UnknownEnvironment",
			text: "Nothing is promoted to that environment.",
			do:   "Correct the name; `espalier pipeline status` lists the environments.",
		},
		{
			is:   "NothingWaits",
			text: "The environment has no promotion that the decision could be about.",
			do:   "Nothing: the decision was already made, or is not due yet.",
		},
		{is: "Stale", text: "The revision or run is not the current one.", do: "Look at the current revision, then decide again."},
		{is: "AlreadyDecided", text: "A different decision was already made.", do: "Retry or reject the promotion, if that decision was wrong."},
		{is: "AlreadyBegun", text: "The promotion has started.", do: "Nothing: approval comes before that."},
		{
			is:   "NotApprover",
			text: "You are not among the approvers, or cannot act for all of them.",
			do:   "Ask one of the approvers that the pipeline names.",
		},
		{
			is:   "Malformed",
			text: "The request cannot be understood.",
			do:   "Use `espalier approve`, `espalier reject` or `espalier retry`, which write it correctly.",
		},
	}},
}

// states are the reasons of conditions that report no error.
var states = []area{
	{title: "Installations, executions and deploy items", words: []word{
		{is: "NotStarted", text: "No job requested yet."},
		{is: "NoJobRequested", text: "No job requested yet."},
		{is: "Requested", text: "A job is requested and has not started."},
		{is: "Succeeded", text: "The job succeeded for the current generation."},
		{is: "Outdated", text: "The spec or an import has changed since the last job."},
		{is: "Suspended", text: "The root is suspended: no new run starts until `espalier resume`. For pipelines, see [holds](#pipelines-holds)."},
		{is: "SuspendInvalid", text: "Of `Suspended`: the annotation `espalier.dev/suspend` has no effect; the message says why."},
		{is: "Retrying", text: "The last attempt failed; the message says when the next one is due."},
		{is: "WaitingForPredecessors", text: "Siblings that export an import have not finished."},
		{is: "WaitingForSuccessors", text: "Siblings that import from this installation still exist, which holds the deletion."},
		{is: "WaitingForImports", text: "An import does not exist yet."},
		{is: "WaitingForSubObjects", text: "Nested installations, the execution or deploy items have not finished."},
		{is: "WaitingForOrphans", text: "Objects that the blueprint no longer contains are still being deleted."},
		{is: "WaitingForOperation", text: "A sibling has not yet accepted the operation that was requested of it."},
		{is: "WaitingForJobs", text: "The namespace runs as many jobs as its quota permits."},
		{is: "WaitingForQuota", text: "A ResourceQuota of the namespace leaves no room for an object."},
		{is: "WaitingForDeployer", text: "No deployer has picked up the deploy item yet."},
		{is: "WaitingForReadiness", text: "What was deployed is not ready yet."},
		{is: "NamespaceTerminating", text: "The namespace is being deleted; nothing new starts in it."},
		{is: "NoEffect", text: "Of `BlueprintWarnings`: the blueprint contains something that has no effect."},
		{is: "FoundOverwrite", text: "Of `ComponentReferenceOverwrite`: a ComponentVersionOverwrites replaced the component."},
	}},
	{title: "Deploy items: what a deployer waits for", words: []word{
		{is: "WaitingForKind", text: "A CRD is not served yet."},
		{is: "WaitingForDeletion", text: "An object is being deleted, and something blocks its deletion."},
		{is: "WaitingForReadinessCheck", text: "A custom readiness check does not hold yet."},
		{is: "WaitingForExport", text: "A value to export does not exist yet."},
		{is: "WaitingForHelm", text: "Another client is working on the release."},
		{is: "WaitingForPod", text: "The pod of a container deploy item has not ended."},
		{is: "WaitingForEarlierPod", text: "An earlier pod of the deploy item has not ended."},
		{is: "WaitingForResult", text: "The image has ended, and exports and state are being stored."},
		{is: "Unschedulable", text: "No node takes the pod."},
		{is: "PodTerminating", text: "The pod was deleted by another client, and has not ended yet."},
	}},
	{title: "TargetSyncs: states", words: []word{
		{is: "Synchronised", text: "All Targets and Secrets match the source."},
		{is: "Deleted", text: "Everything that the TargetSync created is deleted."},
	}},
	{title: "Pipelines: conditions", words: []word{
		{is: "ReconciliationSucceeded", text: "All targets could be read."},
		{is: "Promoting", text: "A revision is on its way."},
		{is: "Starting", text: "Connecting to the cluster or the application. No action is needed."},
	}},
	{title: "What `espalier why` adds", words: []word{
		{is: "Triggered", text: "The object got its job and has not started it."},
		{is: "Pending", text: "The object has not got its job yet."},
		{is: "Proceeding", text: "Not waiting: the controller continues shortly, or is not running."},
		{is: "RotationDisabled", text: "A new token is requested of a TargetSync that does not replace tokens."},
	}},
	{title: "Steps", words: []word{
		{is: "Idle", text: "There is nothing to do."},
		{is: "Held", text: "The finalizer was added. For pipelines, see [holds](#pipelines-holds)."},
		{is: "Ignored", text: "The annotation `landscaper.gardener.cloud/ignore` freezes the object."},
		{is: "Updated", text: "What is below has been updated."},
		{is: "ChangedBelow", text: "The state below has changed."},
		{is: "Operation", text: "An operation is being answered."},
		{is: "FlowChanged", text: "The object leaves the continuous flow."},
		{is: "Deleting", text: "What is below is being deleted."},
		{is: "Damaged", text: "The finalizer, a label or an object below was removed; it is restored."},
		{is: "Started", text: "A job has started."},
		{is: "DeployItemsPrepared", text: "The objects of all deploy items are up to date."},
		{is: "DeployItemsTriggered", text: "Deploy items got the job."},
		{is: "DeployItemsSucceeded", text: "All deploy items succeeded."},
		{is: "DeployItemsDeleted", text: "All deploy items are gone."},
		{is: "DeletingDeployItems", text: "Deploy items are being deleted."},
		{is: "ReadingExports", text: "The exports of the deploy items are being read."},
		{is: "InterruptAccepted", text: "The job is about to be interrupted."},
		{is: "NotMine", text: "Another deployer is responsible for the deploy item."},
		{is: "PickedUp", text: "A deployer has picked up the deploy item."},
		{is: "InProgress", text: "A deployer works on the deploy item."},
		{is: "Unchanged", text: "The deploy item was left out because nothing has changed."},
		{is: "Uninstalled", text: "Nothing is left in the target."},
		{is: "ClusterRemoved", text: "There is no target to uninstall from."},
		{is: "DeletedWithoutUninstall", text: "The deploy item is deleted, and what it deployed stays."},
		{is: "Recording", text: "A pipeline is about to write what it observed."},
		{is: "Acting", text: "A pipeline is about to promote."},
		{is: "Current", text: "A pipeline has nothing to do."},
	}},
}
