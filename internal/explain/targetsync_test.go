// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package explain_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/explain"
	"espalier.dev/internal/objecttree"
	"espalier.dev/internal/target"
	"espalier.dev/internal/targetsync"
)

func TestHowTargetSyncsAreDoing(t *testing.T) {
	type change func(*lsv1alpha1.TargetSync)
	failing := func(reason string, messages ...string) change {
		return func(ts *lsv1alpha1.TargetSync) {
			ts.Status.Conditions[0].Status, ts.Status.Conditions[0].Reason, ts.Status.LastErrors = lsv1alpha1.ConditionFalse, reason, messages
		}
	}
	annotated := func(name, value string) change {
		return func(ts *lsv1alpha1.TargetSync) { ts.Annotations = map[string]string{name: value} }
	}
	deleted := func(finalizer string, errs ...string) change {
		return func(ts *lsv1alpha1.TargetSync) {
			now := metav1.Now()
			ts.DeletionTimestamp, ts.Finalizers, ts.Status.LastErrors = &now, []string{finalizer}, errs
		}
	}
	for name, test := range map[string]struct {
		change   change
		others   []string
		state    objecttree.State
		reason   string
		somebody bool
		said     string // by the message, the hint or a command
	}{
		"synchronised": {func(*lsv1alpha1.TargetSync) {}, nil, objecttree.Succeeded, "", false, "2 Targets are up to date"},
		"a wrong expression": {
			func(ts *lsv1alpha1.TargetSync) { ts.Spec.SecretNameExpression = "(" }, nil, objecttree.Failed, targetsync.ReasonInvalid, true, "edit targetsync sync",
		},
		"not alone": {
			func(*lsv1alpha1.TargetSync) {}, []string{"other"}, objecttree.Failed, targetsync.ReasonNotAlone, true, "delete targetsync other",
		},
		"not seen": {
			func(ts *lsv1alpha1.TargetSync) { ts.Status = lsv1alpha1.TargetSyncStatus{} }, nil, objecttree.Running, explain.ReasonProceeding, false, "check that they run",
		},
		"a new spec": {
			func(ts *lsv1alpha1.TargetSync) { ts.Generation++ }, nil, objecttree.Running, explain.ReasonProceeding, false, "check that they run",
		},
		"asked": {
			annotated(lsv1alpha1.OperationAnnotation, "reconcile"), nil, objecttree.Running, explain.ReasonProceeding, false, "describe targetsync sync",
		},
		"no Secret": {
			failing(target.ReasonSecretMissing, "no Secret"), nil, objecttree.Failed, target.ReasonSecretMissing, true, "get secret access",
		},
		"a bad kubeconfig": {
			failing(target.ReasonInvalid, "exec is rejected"), nil, objecttree.Failed, target.ReasonInvalid, true, "correct the kubeconfig in the Secret access",
		},
		"something in a way": {
			failing(targetsync.ReasonFailed, "Target a exists", "Target b exists"), nil, objecttree.Failed, targetsync.ReasonFailed, true, "Target b exists",
		},
		"a source is down": {
			failing(target.ReasonUnreachable, "refused"), nil, objecttree.Failed, target.ReasonUnreachable, false, "retries with a backoff",
		},
		"only a condition": {failing("Odd"), nil, objecttree.Failed, "Odd", false, "2 Targets"},
		"rotation is off": {
			annotated(lsv1alpha1.RotateTokenAnnotation, ""), nil, objecttree.Running, explain.ReasonRotationDisabled, true, "enable the rotation",
		},
		"being deleted": {deleted(lsv1alpha1.Finalizer), nil, objecttree.Running, explain.ReasonDeleting, false, "are being deleted"},
		"cannot be deleted": {
			deleted(lsv1alpha1.Finalizer, "delete Secret a: forbidden"), nil, objecttree.Running, explain.ReasonDeleting, false, "delete Secret a: forbidden",
		},
		"kept by somebody": {deleted("example.com/mine"), nil, objecttree.Running, explain.ReasonDeleting, true, "example.com/mine"},
		"deleted beside one": {
			deleted(lsv1alpha1.Finalizer), []string{"other"}, objecttree.Running, explain.ReasonDeleting, false, "are being deleted",
		},
		"asked in two's time": {
			annotated(lsv1alpha1.OperationAnnotation, "reconcile"), []string{"other"}, objecttree.Failed, targetsync.ReasonNotAlone, true, "keep one",
		},
	} {
		ts := &lsv1alpha1.TargetSync{
			ObjectMeta: metav1.ObjectMeta{Name: "sync", Generation: 1},
			Spec: lsv1alpha1.TargetSyncSpec{
				SourceNamespace: "garden", SecretRef: lsv1alpha1.LocalSecretReference{Name: "access"}, SecretNameExpression: "*",
			},
			Status: lsv1alpha1.TargetSyncStatus{ObservedGeneration: 1, Conditions: []lsv1alpha1.Condition{{
				Type: lsv1alpha1.ConditionReady, Status: lsv1alpha1.ConditionTrue, Message: "2 Targets are up to date", ObservedGeneration: 1,
			}}},
		}
		test.change(ts)
		got := explain.OfTargetSync(ts, test.others, time.Now())
		said := slices.Concat(got.Messages, []string{got.Advice.Hint})
		for _, command := range got.Advice.Kubectl {
			said = append(said, strings.Join(command, " "))
		}
		if got.State != test.state || got.Reason != test.reason || got.Advice.Somebody != test.somebody || len(got.Messages) == 0 ||
			!strings.Contains(strings.Join(said, "\n"), test.said) {
			t.Errorf("%s: got %+v", name, got)
		}
		if got.State != objecttree.Succeeded && len(got.Advice.Kubectl) == 0 {
			t.Errorf("%s: no advice", name)
		}
	}
}
