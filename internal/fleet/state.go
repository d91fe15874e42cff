// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"time"

	pipelines "espalier.dev/api/pipelines/v1alpha1"
)

// State is what is known about an application.
type State struct {
	// Problem says why the application cannot be read. Its Reason is empty if it can.
	Problem Problem

	// UnreadableSince is when the application could last be read, if it cannot now. It stays the same until it can. It is zero if the
	// application was never read since it is referred to; what was recorded earlier is then the best that is known.
	UnreadableSince time.Time

	// Health is how the application is. While it cannot be read, Revision and AttemptedRevision are the last that were seen, and the
	// rest is empty.
	Health
}

// Known reports whether the state is that of the application now. Otherwise Problem says why not, and nothing may be concluded from the
// rest.
func (s State) Known() bool { return s.Problem.Reason == "" }

// Problem is why an application cannot be read.
type Problem struct {
	Reason  Reason
	Message string // for people: what is wrong, with names, and what can be done
}

// Reason is one word for why an application cannot be read.
type Reason string

// Reasons why an application cannot be read.
const (
	// ReasonStarting is for what has been referred to only now, or is being connected to anew. It ends by itself, soon.
	ReasonStarting Reason = "Starting"
	// ReasonClusterNotFound is for a clusterRef that leads to nothing.
	ReasonClusterNotFound Reason = pipelines.ReasonTargetClusterNotFound
	// ReasonClusterNotReady is for a GitopsCluster whose condition Ready is not True.
	ReasonClusterNotReady Reason = pipelines.ReasonTargetClusterNotReady
	// ReasonKubeconfigMissing is for a cluster whose Secret, or the key in it, does not exist.
	ReasonKubeconfigMissing Reason = "KubeconfigMissing"
	// ReasonKubeconfigInvalid is for a cluster whose kubeconfig is not accepted, or leads to an address that must not be dialled.
	ReasonKubeconfigInvalid Reason = "KubeconfigInvalid"
	// ReasonUnreachable is for a cluster that does not answer.
	ReasonUnreachable Reason = "ClusterUnreachable"
	// ReasonUnauthorized is for a cluster that does not accept the credential.
	ReasonUnauthorized Reason = "CredentialRefused"
	// ReasonKindNotServed is for a kind that the cluster does not know: its custom resource definition is missing there.
	ReasonKindNotServed Reason = "KindNotServed"
	// ReasonForbidden is for a kind that the credential may not list and watch.
	ReasonForbidden Reason = "Forbidden"
	// ReasonNamespaceNotFound is for an application whose namespace does not exist.
	ReasonNamespaceNotFound Reason = "NamespaceNotFound"
	// ReasonNotFound is for an application that does not exist.
	ReasonNotFound Reason = "ApplicationNotFound"
	// ReasonNoRevision is for an application that is ready but does not say at which revision.
	ReasonNoRevision Reason = "RevisionMissing"
	// ReasonNotFollowed is for an application that nobody refers to.
	ReasonNotFollowed Reason = "NotFollowed"
	// ReasonReadFailed is for everything else that keeps a cluster from being read.
	ReasonReadFailed Reason = "ReadFailed"
)

// Condition returns the reason that the condition Ready of a pipeline gives for it.
func (r Reason) Condition() string {
	switch r {
	case ReasonClusterNotFound:
		return pipelines.ReasonTargetClusterNotFound
	case ReasonClusterNotReady, ReasonKubeconfigMissing, ReasonKubeconfigInvalid, ReasonUnreachable, ReasonUnauthorized:
		return pipelines.ReasonTargetClusterNotReady
	}
	return pipelines.ReasonTargetNotReadable
}

// Health is how an application is.
type Health struct {
	// Healthy: it is ready for the current generation, not suspended and not being deleted.
	Healthy bool
	// Revision that it runs; empty if it has never run one.
	Revision string
	// NeverDeployed: it exists and has not run any revision yet.
	NeverDeployed bool
	// AttemptedRevision is the one that was tried last, if it is known.
	AttemptedRevision string
	// Failing: it is not healthy because its last attempt has come to a bad end, rather than being under way.
	Failing   bool
	Suspended bool
	Deleting  bool
	// Generation of the object.
	Generation int64
	// ReadySince is when it became ready, as the application itself says. It is zero if it is not healthy, or does not say so. It
	// betrays a break that was too short to be seen.
	ReadySince time.Time
	// Message says why it is not healthy.
	Message string
}
