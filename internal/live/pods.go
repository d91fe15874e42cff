// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package live

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// podProblem says why a pod is not ready, in the words of the scheduler and the kubelet. It is empty if they give no reason.
func podProblem(object *unstructured.Unstructured) string {
	var pod corev1.Pod
	if runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &pod) != nil {
		return ""
	}
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodScheduled && condition.Status == corev1.ConditionFalse && condition.Message != "" {
			return fmt.Sprintf("%s: %s", condition.Reason, condition.Message)
		}
	}
	for _, statuses := range [][]corev1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses} {
		for i := range statuses {
			if problem := containerProblem(&statuses[i]); problem != "" {
				return problem
			}
		}
	}
	return ""
}

// containerProblem says what a container waits for, or how it ended, now and the last time.
func containerProblem(status *corev1.ContainerStatus) string {
	var words []string
	if waiting := status.State.Waiting; waiting != nil && waiting.Reason != "" {
		words = append(words, strings.TrimSuffix(waiting.Reason+": "+waiting.Message, ": "))
	}
	for _, ended := range []*corev1.ContainerStateTerminated{status.State.Terminated, status.LastTerminationState.Terminated} {
		if ended != nil && ended.ExitCode != 0 {
			words = append(words, strings.TrimPrefix(fmt.Sprintf("%s, exit code %d", ended.Reason, ended.ExitCode), ", "))
			break
		}
	}
	if len(words) == 0 {
		return ""
	}
	if status.RestartCount > 0 {
		words = append(words, fmt.Sprintf("%d restarts", status.RestartCount))
	}
	return fmt.Sprintf("container %s: %s", status.Name, strings.Join(words, "; "))
}
