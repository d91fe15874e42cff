// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"fmt"
	"slices"
	"strings"
	"time"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/failure"
	"espalier.dev/internal/objecttree"
	"espalier.dev/internal/targetsync"
)

// KindTargetSync is the kind that a Synchronisation is about. A TargetSync belongs to no tree.
const KindTargetSync objecttree.Kind = "TargetSync"

// Reasons of TargetSyncs, in addition to those of the package that decides about them.
const (
	// ReasonDeleting means that the TargetSync is being deleted, and not everything that it created is gone.
	ReasonDeleting = "Deleting"
	// ReasonRotationDisabled means that another token is requested although rotation is disabled.
	ReasonRotationDisabled = "RotationDisabled"
)

// Synchronisation is the state of a TargetSync: Succeeded if there is nothing to explain, Failed if something is wrong, and Running if its
// controller is about to process it.
type Synchronisation struct {
	State  objecttree.State
	Reason string
	// Messages say what is wrong, one per problem, or what the result is.
	Messages []string
	Since    time.Time
	Advice   Advice
}

// OfTargetSync explains a TargetSync, in a namespace with others of these names.
func OfTargetSync(ts *lsv1alpha1.TargetSync, others []string, now time.Time) Synchronisation {
	if !ts.DeletionTimestamp.IsZero() {
		return deletionOf(ts)
	}
	if err := refusalOf(ts, others, now); err != nil {
		return Synchronisation{
			State: objecttree.Failed, Reason: failure.DetailsOf(err).Reason, Messages: []string{err.Error()},
			Since:  readyOf(ts).LastTransitionTime.Time,
			Advice: adviceForRefusal(ts, others, failure.DetailsOf(err).Reason),
		}
	}
	ready := readyOf(ts)
	switch {
	case ready.Type == "" || ready.ObservedGeneration != ts.Generation || isAsked(ts):
		return Synchronisation{
			State: objecttree.Running, Reason: ReasonProceeding, Since: ts.CreationTimestamp.Time,
			Messages: []string{"the controller has not processed the current spec or request yet"},
			Advice: Advice{
				Hint:    "the controllers act at once: if this does not change, check that they run and see this namespace",
				Kubectl: [][]string{describeSync(ts)},
			},
		}
	case ready.Status != lsv1alpha1.ConditionTrue:
		messages := ts.Status.LastErrors
		if len(messages) == 0 {
			messages = []string{ready.Message}
		}
		return Synchronisation{
			State: objecttree.Failed, Reason: ready.Reason, Messages: messages, Since: ready.LastTransitionTime.Time,
			Advice: adviceForSync(ts, ready.Reason),
		}
	case waitsForRotation(ts):
		return Synchronisation{
			State: objecttree.Running, Reason: ReasonRotationDisabled, Since: ready.LastTransitionTime.Time,
			Messages: []string{"a new token is requested, but spec.tokenRotation.enabled is not set"},
			Advice: Advice{
				Somebody: true, Hint: "enable the rotation in the spec, or remove the annotation",
				Kubectl: [][]string{{"edit", resourceSync, ts.Name}, {"annotate", resourceSync, ts.Name, lsv1alpha1.RotateTokenAnnotation + "-"}},
			},
		}
	}
	return Synchronisation{State: objecttree.Succeeded, Messages: []string{ready.Message}, Since: ready.LastTransitionTime.Time}
}

const resourceSync = "targetsync"

func describeSync(ts *lsv1alpha1.TargetSync) []string {
	return []string{"describe", resourceSync, ts.Name}
}

// askSync returns the command that requests a synchronisation at once.
func askSync(ts *lsv1alpha1.TargetSync) []string {
	return []string{"annotate", resourceSync, ts.Name, lsv1alpha1.OperationAnnotation + "=" + string(lsv1alpha1.OperationReconcile)}
}

func readyOf(ts *lsv1alpha1.TargetSync) lsv1alpha1.Condition {
	for _, c := range ts.Status.Conditions {
		if c.Type == lsv1alpha1.ConditionReady {
			return c
		}
	}
	return lsv1alpha1.Condition{}
}

func isAsked(ts *lsv1alpha1.TargetSync) bool {
	return ts.Annotations[lsv1alpha1.OperationAnnotation] == string(lsv1alpha1.OperationReconcile)
}

func waitsForRotation(ts *lsv1alpha1.TargetSync) bool {
	_, asked := ts.Annotations[lsv1alpha1.RotateTokenAnnotation]
	return asked && (ts.Spec.TokenRotation == nil || !ts.Spec.TokenRotation.Enabled)
}

// refusalOf returns why nothing is synchronised at all, if the controller's decision function says so before it needs the source.
func refusalOf(ts *lsv1alpha1.TargetSync, others []string, now time.Time) error {
	o := targetsync.NewObserved(ts, now)
	o.Finalizer, o.Asked, o.RotationAsked, o.Others = true, false, false, others
	for _, effect := range targetsync.Decide(o).Do {
		refuse, ok := effect.(targetsync.Refuse)
		if ok && slices.Contains([]string{targetsync.ReasonInvalid, targetsync.ReasonNotAlone}, failure.DetailsOf(refuse.Err).Reason) {
			return refuse.Err
		}
	}
	return nil
}

func adviceForRefusal(ts *lsv1alpha1.TargetSync, others []string, reason string) Advice {
	advice := Advice{Somebody: true, Hint: "correct the spec", Kubectl: [][]string{{"edit", resourceSync, ts.Name}}}
	if reason == targetsync.ReasonNotAlone {
		advice.Hint, advice.Kubectl = "keep one of them: the objects that a TargetSync created are deleted with it", nil
		for _, name := range append([]string{ts.Name}, others...) {
			advice.Kubectl = append(advice.Kubectl, []string{"delete", resourceSync, name})
		}
	}
	return advice
}

// adviceForSync is for a failing synchronisation, which is retried automatically.
func adviceForSync(ts *lsv1alpha1.TargetSync, reason string) Advice {
	secret := ts.Spec.SecretRef.Name
	advice := Advice{Somebody: true, Kubectl: [][]string{describeSync(ts), askSync(ts)}}
	switch {
	case reason == reasonTargetSecretMissing:
		advice.Hint = fmt.Sprintf("create the Secret %s, or name another one; the controller picks it up automatically", secret)
		advice.Kubectl = [][]string{{"get", "secret", secret}, {"edit", resourceSync, ts.Name}}
	case slices.Contains(closedDoors, reason):
		advice.Hint = fmt.Sprintf(
			"correct the kubeconfig in the Secret %s, or the rights of its user in namespace %s of the source", secret, ts.Spec.SourceNamespace)
	case reason == targetsync.ReasonFailed:
		advice.Hint = "fix the problems above; the controller retries automatically, and at once on request"
	default:
		advice.Somebody = false
		advice.Hint = "the controller retries with a backoff of at most five minutes, and at once on request"
	}
	return advice
}

// deletionOf explains a TargetSync that is being deleted, for which the source is not read.
func deletionOf(ts *lsv1alpha1.TargetSync) Synchronisation {
	s := Synchronisation{
		State: objecttree.Running, Reason: ReasonDeleting, Since: ts.DeletionTimestamp.Time, Messages: ts.Status.LastErrors,
		Advice: Advice{Kubectl: [][]string{describeSync(ts)}},
	}
	switch {
	case !slices.Contains(ts.Finalizers, lsv1alpha1.Finalizer):
		s.Messages = []string{"finalizers of other controllers block the deletion: " + strings.Join(ts.Finalizers, ", ")}
		s.Advice.Hint, s.Advice.Somebody = "find the controller that owns each finalizer", true
	case len(s.Messages) > 0:
		s.Advice.Hint = "fix the problems above; the controller retries the deletion automatically"
	default:
		s.Messages = []string{"the Targets and Secrets that it created are being deleted"}
		s.Advice.Hint = "the controllers act at once: if this does not change, check that they run and see this namespace"
	}
	return s
}
