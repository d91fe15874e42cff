// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package inside

// Directories of a pod.
const (
	// SharedDirectory is shared by all containers of the pod.
	SharedDirectory = "/data/ls/shared"
	// InputDirectory is where Init finds what it unpacks. Only Init sees it.
	InputDirectory = "/data/ls/internal"
	// TokenDirectory holds the token with which Wait accesses the API server. Only Wait sees it.
	TokenDirectory = "/var/run/secrets/kubernetes.io/serviceaccount"
)

// Files and directories below SharedDirectory.
const (
	ImportsFile    = "imports/import.json"
	ExportsFile    = "exports/values"
	DescriptorFile = "component_descriptor.json"
	TargetFile     = "targets/target.json"
	ContentFolder  = "content"
	StateFolder    = "state"
)

// Folders below InputDirectory. Each holds the pieces of one packed archive, as files whose names sort in their order.
const (
	BundleFolder    = "bundle"
	StateFolderIn   = "state"
	pieceNameFormat = "%06d"
)

// Environment variables. The first ones are set in all containers, as the image expects them.
const (
	EnvImports    = "IMPORTS_PATH"
	EnvExports    = "EXPORTS_PATH"
	EnvDescriptor = "COMPONENT_DESCRIPTOR_PATH"
	EnvTarget     = "TARGET_PATH"
	EnvContent    = "CONTENT_PATH"
	EnvState      = "STATE_PATH"
	EnvPodName    = "POD_NAME"
	EnvNamespace  = "POD_NAMESPACE"
	// EnvOperation is set for the image only.
	EnvOperation = "OPERATION"
	// EnvItemName and EnvItemNamespace are set for Init and Wait.
	EnvItemName      = "DEPLOY_ITEM_NAME"
	EnvItemNamespace = "DEPLOY_ITEM_NAMESPACE"

	// EnvShared is SharedDirectory, for Init and Wait. EnvInput is InputDirectory, for Init.
	EnvShared = "SHARED_PATH"
	EnvInput  = "INPUT_PATH"
	// EnvStateSum is the checksum of the packed state; empty if unknown.
	EnvStateSum = "STATE_SHA256"

	// EnvRun identifies the run to which the results of Wait belong. EnvResult is the Secret with the exports, EnvStateSecrets the prefix
	// of the names of the Secrets for the state, and EnvStateSlots their number.
	EnvRun          = "RUN"
	EnvResult       = "RESULT_SECRET"
	EnvStateSecrets = "STATE_SECRETS"
	EnvStateSlots   = "STATE_SLOTS"
	// EnvToken is TokenDirectory.
	EnvToken = "TOKEN_PATH"
)

// SecretKey is the key of exports and of pieces of the state in their Secrets.
const SecretKey = "config"

// Annotations of the Secret with the result.
const (
	annotations = "container.deployer.landscaper.gardener.cloud/"
	// AnnotationRun is the run whose result the Secret holds.
	AnnotationRun = annotations + "run"
	// AnnotationState locates the state: the prefix of the Secrets, their number and the checksum, separated by slashes.
	AnnotationState = annotations + "state"
	// AnnotationNeeds is the number of Secrets that Wait needs for the state, followed by a slash and the run.
	AnnotationNeeds = annotations + "needs"
)

const (
	// PieceBytes is the size of the pieces of a packed archive: what fits into a Secret.
	PieceBytes = 1 << 20
	// MaxStatePieces is the maximum number of pieces of a state.
	MaxStatePieces = 32
)
