// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package container

import (
	"encoding/json"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	containerv1alpha1 "espalier.dev/api/deployer/container/v1alpha1"
	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/deployer"
	"espalier.dev/internal/deployer/container/inside"
	"espalier.dev/internal/failure"
	"espalier.dev/internal/testkit"
)

// The janitor may end a pod that it read a while ago, when the next run of the item already has its input.
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
	projected := func(secret string) corev1.VolumeProjection { return pieces(inside.BundleFolder, []string{secret})[0] }
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "pod", UID: "gone", Labels: map[string]string{labelItem: "item"}},
		Spec: corev1.PodSpec{NodeName: "node", Volumes: []corev1.Volume{{Name: volumeInput, VolumeSource: corev1.VolumeSource{
			Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{projected("former"), projected("foreign")}},
		}}}},
	}
	if err := (&Deployer{client: w.Client()}).end(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	if w.Read(former) || !w.Read(next) || !w.Read(foreign) {
		t.Errorf("input of the pod %v, of the next run %v, of somebody else %v", w.Read(former), w.Read(next), w.Read(foreign))
	}
}

// work returns the deployer's input for a deploy item, as it was right after its job started.
func work(w *testkit.World) (*Deployer, deployer.Work) {
	w.Helper()
	item := testkit.DeployItem(w.Namespace, "shop").Config(lsv1alpha1.DeployItemTypeContainer, map[string]any{
		"apiVersion": containerv1alpha1.SchemeGroupVersion.String(), "kind": "ProviderConfiguration", "image": "shop",
	}).Build()
	w.Create(item)
	item.Status.JobID = "first"
	d := &Deployer{options: Options{HelperImage: "helper"}.withDefaults(), client: w.Client(), live: w.Client(), pods: w.Client()}
	return d, deployer.Work{Item: item, Now: time.Now(), Wake: func() {}}
}

// A process that sees a stale item, from before its run, does not run the image again: the pod may be gone, but the result is not.
func TestARunThatIsOverDoesNotBeginAgain(t *testing.T) {
	w := testkit.NewWorld(t)
	d, given := work(w)
	if _, err := d.Deploy(t.Context(), given); err != nil {
		t.Fatal(err)
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: namesOf(given.Item).pod()}}
	if !w.Read(pod) {
		t.Fatal("there is no pod")
	}
	result := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: namesOf(given.Item).result()}}
	w.Annotate(result, inside.AnnotationRun, pod.Annotations[inside.AnnotationRun])
	w.Patch(pod, `{"metadata":{"finalizers":null}}`)
	w.Delete(pod)
	testkit.EventuallyGone(t, w.APIServer, pod)
	if _, err := d.Deploy(t.Context(), given); failure.DetailsOf(err).Reason != "PodLost" {
		t.Errorf("got %v", err)
	}
	if w.Read(pod) {
		t.Error("the image runs again")
	}
}

// A pod may disappear before anybody sees its deletion. What the image did is then unknown, and it is not run again.
func TestARunWhosePodIsGoneHasFailed(t *testing.T) {
	w := testkit.NewWorld(t)
	d, given := work(w)
	for range 2 { // The first call creates the pod, the second records it.
		progress, err := d.Deploy(t.Context(), given)
		if err != nil {
			t.Fatal(err)
		}
		raw, err := json.Marshal(progress.ProviderStatus)
		if err != nil {
			t.Fatal(err)
		}
		given.Item.Status.ProviderStatus = &runtime.RawExtension{Raw: raw}
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: namesOf(given.Item).pod()}}
	w.Patch(pod, `{"metadata":{"finalizers":null}}`)
	w.Delete(pod)
	testkit.EventuallyGone(t, w.APIServer, pod)
	if _, err := d.Deploy(t.Context(), given); failure.DetailsOf(err).Reason != "PodLost" {
		t.Errorf("got %v", err)
	}
	if w.Read(pod) {
		t.Error("the image runs again")
	}
}

// The input of a run that never got a pod is removed with the next run; the input of the next run stays.
func TestInputOfARunWithoutAPodIsRemoved(t *testing.T) {
	w := testkit.NewWorld(t)
	d, given := work(w)
	n, uid := namesOf(given.Item), string(given.Item.UID)
	secret := func(name, kind string) *corev1.Secret {
		return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{
			Namespace: w.Namespace, Name: name, Labels: map[string]string{labelItem: uid, labelType: kind},
		}}
	}
	former := secret(inside.SlotName(n.input("0123456789"), 0), typeInput)
	w.Create(secret(n.result(), typeResult), former)
	if _, err := d.Deploy(t.Context(), given); err != nil {
		t.Fatal(err)
	}
	own := secret(inside.SlotName(n.input(runOf(given.Item, containerv1alpha1.OperationReconcile)), 0), typeInput)
	if w.Read(former) || !w.Read(own) {
		t.Errorf("the input of before is there: %t, that of the run: %t", w.Read(former), w.Read(own))
	}
}
