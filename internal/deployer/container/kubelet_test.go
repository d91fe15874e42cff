// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package container_test

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	landscaper "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/deployer/container/inside"
	"espalier.dev/internal/testkit"
)

// This file plays the kubelet: it lays out volumes from the Secrets that a pod names, asks the API server for the token that the pod gets,
// runs what the containers would run, and tells the API server how they are doing. The helpers of the pod are the real ones; of the image,
// tests say what it does.

const patience = 2 * time.Minute

// image is what the container main does: it gets its environment, and returns an exit code and its last words.
type image func(env inside.Environment) (code int32, words string)

// pod waits until an item has a pod that is not being deleted.
func (w *world) pod(item *landscaper.DeployItem) *corev1.Pod {
	w.Helper()
	return w.podAfter(item, "")
}

// podAfter waits for a pod with another UID than the given one.
func (w *world) podAfter(item *landscaper.DeployItem, before string) *corev1.Pod {
	w.Helper()
	limit, cancel := context.WithTimeout(w.Context(), patience)
	defer cancel()
	namespace := item.Namespace
	if w.options.Namespace != "" {
		namespace = w.options.Namespace
	}
	watcher, err := w.Client().Watch(limit, &corev1.PodList{}, client.InNamespace(namespace),
		client.MatchingLabels{"deployitem.container.deployer.landscaper.gardener.cloud/uid": string(item.UID)})
	if err != nil {
		w.Fatal(err)
	}
	defer watcher.Stop()
	for event := range watcher.ResultChan() {
		if pod, ok := event.Object.(*corev1.Pod); ok && string(pod.UID) != before && pod.DeletionTimestamp == nil {
			return pod
		}
	}
	w.Read(item)
	w.Fatalf("deploy item %s has no pod: %+v", item.Name, item.Status)
	return nil
}

// bind assigns a pod to a node.
func (w *world) bind(pod *corev1.Pod) {
	w.Helper()
	to := &corev1.Binding{Target: corev1.ObjectReference{Kind: "Node", Name: "node"}}
	err := w.Client().SubResource("binding").Create(w.Context(), pod, to)
	if err != nil {
		w.Fatal(err)
	}
	w.Read(pod)
}

// tell changes the status of a pod.
func (w *world) tell(pod *corev1.Pod, change func(*corev1.PodStatus)) {
	w.Helper()
	before := pod.DeepCopy()
	change(&pod.Status)
	if err := w.Client().Status().Patch(w.Context(), pod, client.MergeFrom(before)); err != nil {
		w.Fatal(err)
	}
}

func running(name string) corev1.ContainerStatus {
	return corev1.ContainerStatus{
		Name: name, ImageID: "sha256:0", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Now()}},
	}
}

func terminated(name string, code int32, words string) corev1.ContainerStatus {
	reason := "Completed"
	if code != 0 {
		reason = "Error"
	}
	return corev1.ContainerStatus{Name: name, ImageID: "sha256:0", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
		ExitCode: code, Reason: reason, Message: words, StartedAt: metav1.Now(), FinishedAt: metav1.Now(),
	}}}
}

// runs runs a pod from beginning to end.
func (w *world) runs(pod *corev1.Pod, main image) {
	w.Helper()
	w.bind(pod)
	n := w.node(pod)
	if err := inside.Init(n.env("init")); err != nil {
		w.tell(pod, func(s *corev1.PodStatus) {
			s.Phase, s.InitContainerStatuses = corev1.PodFailed, []corev1.ContainerStatus{terminated("init", 1, err.Error())}
		})
		return
	}
	w.tell(pod, func(s *corev1.PodStatus) {
		s.Phase, s.InitContainerStatuses = corev1.PodRunning, []corev1.ContainerStatus{terminated("init", 0, ""), running("wait")}
		s.ContainerStatuses = []corev1.ContainerStatus{running("main")}
	})
	code, words := main(n.env("main"))
	w.stops(pod, n, terminated("main", code, words))
}

// stops ends a pod whose image has ended.
func (w *world) stops(pod *corev1.Pod, n *node, main corev1.ContainerStatus) {
	w.Helper()
	w.tell(pod, func(s *corev1.PodStatus) { s.ContainerStatuses = []corev1.ContainerStatus{main} })
	waited := terminated("wait", 0, "")
	if err := inside.Wait(w.Context(), n.env("wait"), closed()); err != nil {
		waited = terminated("wait", 1, err.Error())
	}
	w.tell(pod, func(s *corev1.PodStatus) {
		s.Phase = corev1.PodSucceeded
		if main.State.Terminated.ExitCode != 0 {
			s.Phase = corev1.PodFailed
		}
		s.InitContainerStatuses = []corev1.ContainerStatus{terminated("init", 0, ""), waited}
	})
}

// nothing is an image that does nothing.
func nothing(inside.Environment) (int32, string) { return 0, "" }

// node is where a pod runs: its directories.
type node struct {
	w                    *world
	pod                  *corev1.Pod
	shared, input, token string
}

func (w *world) node(pod *corev1.Pod) *node {
	w.Helper()
	n := &node{w: w, pod: pod, shared: w.TempDir(), input: w.TempDir(), token: w.TempDir()}
	for _, volume := range pod.Spec.Volumes {
		if volume.Name == "input" {
			for _, source := range volume.Projected.Sources {
				n.project(source.Secret)
			}
		}
	}
	n.authorize()
	return n
}

func (n *node) project(source *corev1.SecretProjection) {
	n.w.Helper()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: n.pod.Namespace, Name: source.Name}}
	if !n.w.Read(secret) {
		n.w.Fatalf("the pod names Secret %s, which does not exist", source.Name)
	}
	for _, item := range source.Items {
		file := filepath.Join(n.input, item.Path)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			n.w.Fatal(err)
		}
		if err := os.WriteFile(file, secret.Data[item.Key], 0o600); err != nil {
			n.w.Fatal(err)
		}
	}
}

// authorize gets the token that the kubelet would get for the pod.
func (n *node) authorize() {
	n.w.Helper()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: n.pod.Namespace, Name: n.pod.Spec.ServiceAccountName}}
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
		BoundObjectRef: &authenticationv1.BoundObjectReference{Kind: "Pod", APIVersion: "v1", Name: n.pod.Name, UID: n.pod.UID},
	}}
	if err := n.w.Client().SubResource("token").Create(n.w.Context(), account, request); err != nil {
		n.w.Fatal(err)
	}
	for name, content := range map[string][]byte{"token": []byte(request.Status.Token), "ca.crt": n.w.Config().CAData} {
		if err := os.WriteFile(filepath.Join(n.token, name), content, 0o600); err != nil {
			n.w.Fatal(err)
		}
	}
}

// env is the environment of a container, with the directories of the node.
func (n *node) env(container string) inside.Environment {
	n.w.Helper()
	address, err := url.Parse(n.w.Config().Host)
	if err != nil {
		n.w.Fatal(err)
	}
	values := map[string]string{"KUBERNETES_SERVICE_HOST": address.Hostname(), "KUBERNETES_SERVICE_PORT": address.Port()}
	directories := strings.NewReplacer(inside.SharedDirectory, n.shared, inside.InputDirectory, n.input, inside.TokenDirectory, n.token)
	for _, c := range append(n.pod.Spec.InitContainers, n.pod.Spec.Containers...) {
		if c.Name != container {
			continue
		}
		for _, v := range c.Env {
			values[v.Name] = directories.Replace(v.Value)
		}
	}
	values[inside.EnvPodName], values[inside.EnvNamespace] = n.pod.Name, n.pod.Namespace
	return func(name string) string { return values[name] }
}

// read reads a file of a container; empty if it is not there.
func read(env inside.Environment, variable string, below ...string) string {
	content, err := os.ReadFile(filepath.Join(append([]string{env(variable)}, below...)...))
	if err != nil {
		return ""
	}
	return string(content)
}

// write writes a file of a container.
func write(env inside.Environment, variable, content string, below ...string) (int32, string) {
	if err := os.WriteFile(filepath.Join(append([]string{env(variable)}, below...)...), []byte(content), 0o600); err != nil {
		return 1, fmt.Sprint(err)
	}
	return 0, ""
}

// gone waits until a pod is gone.
func (w *world) gone(pod *corev1.Pod) {
	w.Helper()
	testkit.EventuallyGone(w.T, w.APIServer, pod)
}

// closed tells that the image has stopped.
func closed() <-chan os.Signal {
	stopped := make(chan os.Signal)
	close(stopped)
	return stopped
}
