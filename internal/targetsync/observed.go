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
	// ByAnnotation on what a TargetSync has made is the name of the TargetSync.
	ByAnnotation = "espalier.dev/targetsync"
	// RotatedAnnotation on the Secret of the source is when its token was made.
	RotatedAnnotation = "espalier.dev/token-rotated-at"
	// RotatingAnnotation on a TargetSync is when the request for another token was seen.
	RotatingAnnotation = "espalier.dev/token-rotation-seen-at"
	// RequestedAtAnnotation is how tools of Flux ask for a reconcile.
	RequestedAtAnnotation = "reconcile.fluxcd.io/requestedAt"
)

// KubeconfigKey is the key of a kubeconfig in Secrets, unless another one is named.
const KubeconfigKey = "kubeconfig"

const (
	// Interval is how long a source is not looked at if nothing is heard of it.
	Interval = 5 * time.Minute
	// ShootSeconds is how long the credentials of a shoot are valid, RenewAfter how old they may become.
	ShootSeconds = 86400
	RenewAfter   = 43200 * time.Second
	// TokenSeconds is how long the token of the source is valid, RotateAfter how old it may become.
	TokenSeconds = 90 * 86400
	RotateAfter  = 60 * 24 * time.Hour
)

// Observed is what is known about a TargetSync.
type Observed struct {
	Name       string
	Now        time.Time
	Generation int64
	Spec       lsv1alpha1.TargetSyncSpec
	Deleting   bool
	Finalizer  bool
	// Asked says that a reconcile is asked for, RequestedAt in which words of Flux, if any.
	Asked       bool
	RequestedAt string
	// RotationAsked says that another token is asked for, RotationSeen when that was seen.
	RotationAsked bool
	RotationSeen  time.Time
	// LastRotation is what the status knows of it.
	LastRotation time.Time
	// Others are the names of all other TargetSyncs in the namespace.
	Others []string

	// Targets are all of the namespace, Secrets those that are ours, by their names.
	Targets map[string]Target
	Secrets map[string]Secret
	// Source is nil until it is needed.
	Source *Source

	// Failed are pairs, and the rotation, that went wrong in this synchronisation.
	Failed map[string]error
	// Changed says that something was written in this synchronisation.
	Changed bool
}

// Target is what is known about a Target.
type Target struct {
	UID  types.UID
	Ours bool
	// By is the TargetSync that has made it, empty if it was made by Landscaper.
	By     string
	Spec   lsv1alpha1.TargetSpec
	Synced time.Time
}

// Secret is what is known about a Secret that is ours.
type Secret struct {
	UID types.UID
	// Version is its resourceVersion.
	Version string
	By      string
	Type    string
	Data    map[string][]byte
	// Synced is when the credentials in it were asked for, zero if that was not a TargetSync's doing.
	Synced time.Time
}

// Source is what is known about the source.
type Source struct {
	// Err is why nothing is known.
	Err error
	// Rotated is when the token was made, zero if not by a TargetSync.
	Rotated time.Time
	// Secrets are those that the expression chooses, Shoots the names of such shoots.
	Secrets map[string]Content
	Shoots  []string
}

// Content is what a Secret in the source contains.
type Content struct {
	Type string
	Data map[string][]byte
}

// NewObserved returns what the object itself says.
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

// TimeOf reads a time from an annotation; what is none is zero.
func TimeOf(text string) time.Time {
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return time.Time{}
	}
	return at
}

// TimeText is a time as annotations have it.
func TimeText(at time.Time) string { return at.UTC().Format(time.RFC3339Nano) }
