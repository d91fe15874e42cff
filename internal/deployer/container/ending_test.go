// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package container

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"espalier.dev/internal/testkit"
)

// The janitor may end a pod that it has looked at a while ago, when the next run of the item has got its input already.
func TestEndingAPodLeavesTheInputOfTheNextRun(t *testing.T) {
	w := testkit.NewWorld(t)
	input := func(name string) *corev1.Secret {
		return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{
			Namespace: w.Namespace, Name: name, Labels: map[string]string{labelItem: "item", labelType: typeInput},
		}}
	}
	former, next, foreign := input("former"), input("next"), input("foreign")
	foreign.Labels = nil
	w.Create(former, next, foreign)
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "pod", UID: "gone", Labels: map[string]string{labelItem: "item"}},
		Spec: corev1.PodSpec{NodeName: "node", Volumes: []corev1.Volume{{Name: volumeInput, VolumeSource: corev1.VolumeSource{
			Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{
				{Secret: &corev1.SecretProjection{LocalObjectReference: corev1.LocalObjectReference{Name: "former"}}},
				{Secret: &corev1.SecretProjection{LocalObjectReference: corev1.LocalObjectReference{Name: "foreign"}}},
			}},
		}}}},
	}
	if err := (&Deployer{client: w.Client()}).end(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	if w.Read(former) || !w.Read(next) || !w.Read(foreign) {
		t.Errorf("input of the pod %v, of the next run %v, of somebody else %v", w.Read(former), w.Read(next), w.Read(foreign))
	}
}
