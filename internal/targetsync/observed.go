// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package targetsync

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
)

const (
	// ByAnnotation, on an object that a TargetSync has created, is the name of the TargetSync.
	ByAnnotation = "espalier.dev/targetsync"
	// RotatedAnnotation, on the Secret of the source, is when its token was created.
	RotatedAnnotation = "espalier.dev/token-rotated-at"
	// RotatingAnnotation, on a TargetSync, is when the request for another token was seen.
	RotatingAnnotation = "espalier.dev/token-rotation-seen-at"
	// RequestedAtAnnotation is the annotation with which tools of Flux request a reconcile.
	RequestedAtAnnotation = "reconcile.fluxcd.io/requestedAt"
)

// KubeconfigKey is the default key of a kubeconfig in Secrets.
const KubeconfigKey = "kubeconfig"

const (
	// Interval is the maximum time between two synchronisations.
	Interval = 5 * time.Minute
	// ShootSeconds is how long the credentials of a shoot are valid, RenewAfter the age at which they are renewed.
	ShootSeconds = 86400
	RenewAfter   = 43200 * time.Second
	// TokenSeconds is how long the token of the source is valid, RotateAfter the age at which it is replaced.
	TokenSeconds = 90 * 86400
	RotateAfter  = 60 * 24 * time.Hour
)

// Observed holds the facts about a TargetSync.
type Observed struct {
	Name       string
	Now        time.Time
	Generation int64
	Spec       lsv1alpha1.TargetSyncSpec
	Deleting   bool
	Finalizer  bool
	// Asked reports whether a reconcile is requested, RequestedAt is the value of Flux's request, if any.
	Asked       bool
	RequestedAt string
	// RotationAsked reports whether another token is requested, RotationSeen is when the request was seen.
	RotationAsked bool
	RotationSeen  time.Time
	// LastRotation is the time of the last rotation in the status.
	LastRotation time.Time
	// Others are the names of all other TargetSyncs in the namespace.
	Others []string

	// Targets are all Targets of the namespace, Secrets those that are ours, by name.
	Targets map[string]Target
	Secrets map[string]Secret
	// Source is nil until it is needed.
	Source *Source

	// Failed are the pairs, and the rotation, that failed in this synchronisation.
	Failed map[string]error
	// Changed reports whether something was written in this synchronisation.
	Changed bool
}

// Target holds the facts about a Target.
type Target struct {
	UID  types.UID
	Ours bool
	// By is the TargetSync that created it, empty if it was created by Landscaper.
	By     string
	Spec   lsv1alpha1.TargetSpec
	Synced time.Time
}

// Secret holds the facts about a Secret that is ours.
type Secret struct {
	UID types.UID
	// Version is its resourceVersion.
	Version string
	By      string
	Type    string
	Data    map[string][]byte
	// Synced is when the credentials in it were requested, zero if not by a TargetSync.
	Synced time.Time
}

// Source holds the facts about the source.
type Source struct {
	// Err is why the source could not be read.
	Err error
	// Rotated is when the token was created, zero if not by a TargetSync.
	Rotated time.Time
	// Secrets are the selected Secrets, Shoots the names of the selected shoots.
	Secrets map[string]Content
	Shoots  []string
}

// Content is the content of a Secret in the source.
type Content struct {
	Type string
	Data map[string][]byte
}

// NewObserved returns the facts from the object itself.
func NewObserved(ts *lsv1alpha1.TargetSync, now time.Time) Observed {
	annotations := ts.Annotations
	_, rotate := annotations[lsv1alpha1.RotateTokenAnnotation]
	o := Observed{
		Name: ts.Name, Now: now, Generation: ts.Generation, Spec: ts.Spec,
		Deleting:      !ts.DeletionTimestamp.IsZero(),
		Finalizer:     hasFinalizer(ts),
		Asked:         annotations[lsv1alpha1.OperationAnnotation] == string(lsv1alpha1.OperationReconcile),
		RequestedAt:   annotations[RequestedAtAnnotation],
		RotationAsked: rotate,
		RotationSeen:  plausible(TimeOf(annotations[RotatingAnnotation]), now),
		Failed:        map[string]error{},
	}
	if at := ts.Status.LastTokenRotationTime; at != nil {
		o.LastRotation = at.Time
	}
	return o
}

func hasFinalizer(object metav1.Object) bool {
	for _, name := range object.GetFinalizers() {
		if name == lsv1alpha1.Finalizer {
			return true
		}
	}
	return false
}

// TimeOf parses a time from an annotation; zero if it is invalid.
func TimeOf(text string) time.Time {
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return time.Time{}
	}
	return at
}

// TimeText formats a time for annotations.
func TimeText(at time.Time) string { return at.UTC().Format(time.RFC3339Nano) }
