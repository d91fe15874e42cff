// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package clitest

import (
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
)

// Clusters returns a TargetSync whose controller has found problems with a reason; without any, it is synchronised.
func Clusters(namespace, reason string, problems ...string) *lsv1alpha1.TargetSync {
	at := metav1.NewTime(Ago(20 * time.Hour))
	ready := lsv1alpha1.Condition{
		Type: lsv1alpha1.ConditionReady, Status: lsv1alpha1.ConditionTrue, Reason: reason, Message: "3 Targets are up to date",
		ObservedGeneration: 1, LastTransitionTime: at, LastUpdateTime: at,
	}
	if len(problems) > 0 {
		ready.Status, ready.Message = lsv1alpha1.ConditionFalse, strings.Join(problems, "; ")
	}
	return &lsv1alpha1.TargetSync{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "clusters", Finalizers: []string{lsv1alpha1.Finalizer}},
		Spec: lsv1alpha1.TargetSyncSpec{
			SourceNamespace: "project-shop", SecretRef: lsv1alpha1.LocalSecretReference{Name: "source-access"}, SecretNameExpression: "^prod-",
		},
		Status: lsv1alpha1.TargetSyncStatus{
			ObservedGeneration: 1, LastUpdateTime: &at, LastErrors: problems, Conditions: []lsv1alpha1.Condition{ready},
		},
	}
}
