// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package inside

// Directories of a pod.
const (
	// SharedDirectory is what all containers of the pod share.
	SharedDirectory = "/data/ls/shared"
	// InputDirectory is where Init alone finds what it unpacks.
	InputDirectory = "/data/ls/internal"
	// TokenDirectory is where Wait alone finds its access to the API server.
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

// Folders below InputDirectory. In each of them the pieces of one packed archive are files with names that sort in their order.
const (
	BundleFolder    = "bundle"
	StateFolderIn   = "state"
	pieceNameFormat = "%06d"
)

// Environment variables. The first ones are for all containers, as the image expects them.
const (
	EnvImports    = "IMPORTS_PATH"
	EnvExports    = "EXPORTS_PATH"
	EnvDescriptor = "COMPONENT_DESCRIPTOR_PATH"
	EnvTarget     = "TARGET_PATH"
	EnvContent    = "CONTENT_PATH"
	EnvState      = "STATE_PATH"
	EnvPodName    = "POD_NAME"
	EnvNamespace  = "POD_NAMESPACE"
	// EnvOperation is for the image alone.
	EnvOperation = "OPERATION"
	// EnvItemName and EnvItemNamespace are for Init and Wait.
	EnvItemName      = "DEPLOY_ITEM_NAME"
	EnvItemNamespace = "DEPLOY_ITEM_NAMESPACE"

	// EnvShared is SharedDirectory, for Init and Wait. EnvInput is InputDirectory, for Init.
	EnvShared = "SHARED_PATH"
	EnvInput  = "INPUT_PATH"
	// EnvStateSum is the checksum of the packed state; empty if nobody knows it.
	EnvStateSum = "STATE_SHA256"

	// EnvRun is for Wait: what it stores belongs to that run. EnvResult is the Secret with the exports, EnvStateSecrets what the names of the
	// Secrets for the state begin with, and EnvStateSlots how many of them exist.
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
	// AnnotationState says where the state is: the prefix of the Secrets, their number and the checksum, with slashes between them.
	AnnotationState = annotations + "state"
	// AnnotationNeeds is how many Secrets for the state Wait needs, followed by a slash and the run.
	AnnotationNeeds = annotations + "needs"
)

const (
	// PieceBytes is the size of the pieces of a packed archive: what fits into a Secret.
	PieceBytes = 1 << 20
	// MaxStatePieces is how many pieces a state may have.
	MaxStatePieces = 32
)
