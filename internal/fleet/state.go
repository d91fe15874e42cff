// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"time"

	pipelines "espalier.dev/api/pipelines/v1alpha1"
)

// State is the known state of an application.
type State struct {
	// Problem is why the application cannot be read. Its Reason is empty if it can.
	Problem Problem

	// UnreadableSince is when the application could last be read, if it cannot be read now. It does not change until then. It is zero if the
	// application has not been read since the first reference to it; then an earlier record is the best available one.
	UnreadableSince time.Time

	// Health is the health of the application. While it cannot be read, Revision and AttemptedRevision are the last ones seen, and the rest is
	// empty.
	Health
}

// Known reports whether the state is current. Otherwise Problem is why not, and the rest must not be relied on.
func (s State) Known() bool { return s.Problem.Reason == "" }

// Problem is why an application cannot be read.
type Problem struct {
	Reason  Reason
	Message string // for people: what is wrong, with names, and what to do
}

// Reason is one word for why an application cannot be read.
type Reason string

// Reasons why an application cannot be read.
const (
	// ReasonStarting is for new references and reconnections. It is temporary.
	ReasonStarting Reason = "Starting"
	// ReasonClusterNotFound is for a clusterRef to a missing object.
	ReasonClusterNotFound Reason = pipelines.ReasonTargetClusterNotFound
	// ReasonClusterNotReady is for a GitopsCluster whose condition Ready is not True.
	ReasonClusterNotReady Reason = pipelines.ReasonTargetClusterNotReady
	// ReasonKubeconfigMissing is for a cluster whose Secret, or the key in it, does not exist.
	ReasonKubeconfigMissing Reason = "KubeconfigMissing"
	// ReasonKubeconfigInvalid is for a cluster whose kubeconfig is rejected, or leads to an address that must not be dialled.
	ReasonKubeconfigInvalid Reason = "KubeconfigInvalid"
	// ReasonUnreachable is for a cluster that does not respond.
	ReasonUnreachable Reason = "ClusterUnreachable"
	// ReasonUnauthorized is for a cluster that rejects the credential.
	ReasonUnauthorized Reason = "CredentialRefused"
	// ReasonKindNotServed is for a kind that the cluster does not serve: its CRD is missing there.
	ReasonKindNotServed Reason = "KindNotServed"
	// ReasonForbidden is for a kind that the credential may not list and watch.
	ReasonForbidden Reason = "Forbidden"
	// ReasonNamespaceNotFound is for an application whose namespace does not exist.
	ReasonNamespaceNotFound Reason = "NamespaceNotFound"
	// ReasonNotFound is for an application that does not exist.
	ReasonNotFound Reason = "ApplicationNotFound"
	// ReasonNoRevision is for an application that is ready but reports no revision.
	ReasonNoRevision Reason = "RevisionMissing"
	// ReasonNotFollowed is for an application without references.
	ReasonNotFollowed Reason = "NotFollowed"
	// ReasonReadFailed is for all other failures to read a cluster.
	ReasonReadFailed Reason = "ReadFailed"
)

// Condition returns the corresponding reason of a pipeline's condition Ready.
func (r Reason) Condition() string {
	switch r {
	case ReasonClusterNotFound:
		return pipelines.ReasonTargetClusterNotFound
	case ReasonClusterNotReady, ReasonKubeconfigMissing, ReasonKubeconfigInvalid, ReasonUnreachable, ReasonUnauthorized:
		return pipelines.ReasonTargetClusterNotReady
	}
	return pipelines.ReasonTargetNotReadable
}

// Health is the health of an application.
type Health struct {
	// Healthy reports whether it is ready for the current generation, not suspended and not being deleted.
	Healthy bool
	// Revision is the running revision; empty if it has never run one.
	Revision string
	// NeverDeployed reports whether it exists and has not run any revision yet.
	NeverDeployed bool
	// AttemptedRevision is the revision that was last tried, if known.
	AttemptedRevision string
	// Failing reports whether it is unhealthy because its last attempt failed, rather than being in progress.
	Failing   bool
	Suspended bool
	Deleting  bool
	// Generation is metadata.generation of the object.
	Generation int64
	// ReadySince is when it became ready, as the application itself reports. It is zero if it is not healthy, or does not report it. It
	// reveals outages that were too short to be observed.
	ReadySince time.Time
	// Message is why it is not healthy.
	Message string
}
