// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package container_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	landscaper "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/deployer/container/inside"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/kubelet"
)

// Results of containers.
var nothing, terminated = kubelet.Nothing, kubelet.Terminated

// pod waits until an item has a pod that is not being deleted.
func (w *world) pod(item *landscaper.DeployItem) *corev1.Pod {
	w.Helper()
	return w.podAfter(item, "")
}

// podAfter waits for a pod with a UID other than the given one.
func (w *world) podAfter(item *landscaper.DeployItem, before string) *corev1.Pod {
	w.Helper()
	limit, cancel := context.WithTimeout(w.Context(), testkit.Patience)
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

// kubelet plays the kubelet of the cluster.
func (w *world) kubelet() kubelet.Kubelet {
	return kubelet.Kubelet{Client: w.Client(), Config: w.Config(), TempDir: w.TempDir}
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// bind assigns a pod to a node.
func (w *world) bind(pod *corev1.Pod) {
	w.Helper()
	w.must(w.kubelet().Bind(w.Context(), pod))
}

// tell changes the status of a pod.
func (w *world) tell(pod *corev1.Pod, change func(*corev1.PodStatus)) {
	w.Helper()
	w.must(w.kubelet().Tell(w.Context(), pod, change))
}

// starts makes the image of a pod run.
func (w *world) starts(pod *corev1.Pod) {
	w.Helper()
	w.bind(pod)
	w.tell(pod, func(s *corev1.PodStatus) {
		s.Phase, s.ContainerStatuses = corev1.PodRunning, []corev1.ContainerStatus{kubelet.Running("main")}
	})
}

// runs runs a pod from start to finish.
func (w *world) runs(pod *corev1.Pod, main kubelet.Image) {
	w.Helper()
	w.must(w.kubelet().Run(w.Context(), pod, main))
}

// node returns the node of a pod.
func (w *world) node(pod *corev1.Pod) *kubelet.Node {
	w.Helper()
	n, err := w.kubelet().Node(w.Context(), pod)
	w.must(err)
	return n
}

// stops ends a pod whose image has ended.
func (w *world) stops(n *kubelet.Node, main corev1.ContainerStatus) {
	w.Helper()
	w.must(n.Stop(w.Context(), main))
}

// read reads a file of a container; empty if it does not exist.
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
