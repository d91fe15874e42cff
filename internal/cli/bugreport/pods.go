// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package bugreport

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// pods is about the pods of the controllers and of the web UI: their states, logs and metrics.
func (c *collector) pods(ctx context.Context) {
	const states, logs = "controllers/pods.yaml", "controllers/logs"
	var list corev1.PodList
	if err := c.Client.List(ctx, &list, client.InNamespace(c.System)); err != nil {
		c.missing(logs, "pods and logs of the controllers", err)
		return
	}
	var ours []corev1.Pod
	told := []any{}
	for _, pod := range list.Items {
		if strings.HasPrefix(pod.Name, "espalier-") {
			ours, told = append(ours, pod), append(told, c.stateOf(&pod))
		}
	}
	c.add(states, "pods in namespace "+c.System+": restarts, and how each container last ended", told)
	clientset, err := kubernetes.NewForConfig(c.config)
	if err != nil {
		c.missing(logs, "logs of the controllers", err)
		return
	}
	for _, pod := range ours {
		c.outputs(ctx, clientset.CoreV1().RESTClient(), &pod)
	}
}

// stateOf returns what a pod's status says: a process that was killed for its memory, or fails at its start, says nothing in its log.
func (c *collector) stateOf(pod *corev1.Pod) map[string]any {
	containers := []any{}
	for _, status := range pod.Status.ContainerStatuses {
		containers = append(containers, map[string]any{
			"name": status.Name, "image": status.Image, "imageID": status.ImageID, "ready": status.Ready, "restarts": status.RestartCount,
			"state": c.endOf(status.State), "before": c.endOf(status.LastTerminationState),
		})
	}
	return map[string]any{
		"name": pod.Name, "node": pod.Spec.NodeName, "phase": pod.Status.Phase, "started": pod.Status.StartTime,
		"reason": word(pod.Status.Reason, c.values), "message": prose(pod.Status.Message, c.values), "containers": containers,
	}
}

// endOf returns the state of a container, with the texts masked: a container may end with a message of its own.
func (c *collector) endOf(state corev1.ContainerState) corev1.ContainerState {
	told := *state.DeepCopy()
	if told.Waiting != nil {
		told.Waiting.Message = prose(told.Waiting.Message, c.values)
	}
	if told.Terminated != nil {
		told.Terminated.Message = prose(told.Terminated.Message, c.values)
	}
	return told
}

// outputs takes the end of each container's log, also of the run before its last restart, and the metrics of the process.
func (c *collector) outputs(ctx context.Context, api rest.Interface, pod *corev1.Pod) {
	restarts := map[string]int32{}
	for _, status := range pod.Status.ContainerStatuses {
		restarts[status.Name] = status.RestartCount
	}
	for _, container := range pod.Spec.Containers {
		name, whose := "controllers/"+pod.Name, "pod "+pod.Name
		if len(pod.Spec.Containers) > 1 {
			name, whose = name+"-"+container.Name, "container "+container.Name+" of "+whose
		}
		log := func() *rest.Request {
			return api.Get().Namespace(pod.Namespace).Resource("pods").Name(pod.Name).SubResource("log").Param("container", container.Name).
				Param("tailLines", fmt.Sprint(logLines)).Param("limitBytes", fmt.Sprint(logLimit))
		}
		c.answer(ctx, name+".log", fmt.Sprintf("the last %d lines of the log of %s", logLines, whose), log())
		if count := restarts[container.Name]; count > 0 {
			about := fmt.Sprintf("the same of its run before the last of %d restarts", count)
			c.answer(ctx, name+".previous.log", about, log().Param("previous", "true"))
		}
	}
	c.answer(ctx, "controllers/"+pod.Name+".metrics", "metrics of pod "+pod.Name,
		api.Get().Namespace(pod.Namespace).Resource("pods").Name(pod.Name+":"+metricsPort).SubResource("proxy").Suffix("metrics"))
}

// answer takes the answer to a request as a file.
func (c *collector) answer(ctx context.Context, name, about string, request *rest.Request) {
	ctx, cancel := context.WithTimeout(ctx, podLimit)
	defer cancel()
	content, err := request.DoRaw(ctx)
	if err != nil {
		c.missing(name, about, err)
		return
	}
	c.files = append(c.files, file{name: name, about: about, content: c.lines(string(content))})
}
