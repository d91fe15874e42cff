// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package web

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"espalier.dev/internal/masking"
	"espalier.dev/internal/web/loglines"
	"espalier.dev/internal/web/rights"
	"espalier.dev/internal/web/view"
)

const (
	// controllersNamespace is where the pods of the controllers are searched for readers who may not list pods in all namespaces.
	controllersNamespace = "espalier-system"
	// maxLogPods, logTail and maxLogBytes bound what is read, logPatience how long that takes.
	maxLogPods  = 8
	logTail     = 5000
	maxLogBytes = 4 << 20
	logPatience = 10 * time.Second
)

// logs shows what deployers have logged about a deploy item, to readers who may read the deploy item.
func (s *Server) logs(r *http.Request, by caller) (any, error) {
	item, err := by.deployItemOf(r)
	if err != nil {
		return nil, err
	}
	key := client.ObjectKeyFromObject(item)
	if s.options.Logs != nil {
		shown := view.Logs{Lines: s.options.Logs.Of(key)}
		if len(shown.Lines) == 0 {
			shown.Message = "The controllers have logged nothing about it since they started."
		}
		return shown, nil
	}
	ctx, cancel := context.WithTimeout(r.Context(), logPatience)
	defer cancel()
	return by.podLogs(ctx, key)
}

// podLogs reads what the pods of the controllers have logged about a deploy item, with the caller's rights.
func (by caller) podLogs(ctx context.Context, item client.ObjectKey) (view.Logs, error) {
	shown := view.Logs{Lines: []view.LogLine{}}
	core, err := corev1client.NewForConfig(by.reader.config)
	if err != nil {
		return shown, fmt.Errorf("prepare to read logs: %w", err)
	}
	pods, err := controllerPods(ctx, core)
	if err != nil {
		shown.Message = whyNoLogs(rights.Right{Verb: "list", Resource: "pods"}, controllersNamespace, err)
		return shown, nil
	}
	if len(pods) == 0 {
		shown.Message = "No pod here has the label " + loglines.ControllersLabel + ", so the controllers run elsewhere. See their logs there."
		return shown, nil
	}
	for i := range pods[:min(len(pods), maxLogPods)] {
		lines, err := linesAbout(ctx, core, &pods[i], item)
		if err != nil {
			shown.Message = whyNoLogs(rights.Right{Verb: "get", Resource: "pods/log"}, pods[i].Namespace, err)
		}
		shown.Lines = append(shown.Lines, lines...)
	}
	slices.SortStableFunc(shown.Lines, func(a, b view.LogLine) int { return timeIn(a).Compare(timeIn(b)) })
	shown.Lines = shown.Lines[max(0, len(shown.Lines)-maxLogLines):]
	if len(shown.Lines) == 0 && shown.Message == "" {
		shown.Message = fmt.Sprintf("The last %d log lines of each controller do not mention it.", logTail)
	}
	return shown, nil
}

func timeIn(line view.LogLine) time.Time {
	if line.Time == nil {
		return time.Time{}
	}
	return *line.Time
}

// controllerPods returns the pods of the controllers, from all namespaces or from their usual one.
func controllerPods(ctx context.Context, core corev1client.PodsGetter) ([]corev1.Pod, error) {
	options := metav1.ListOptions{LabelSelector: loglines.ControllersLabel, Limit: maxLogPods}
	pods, err := core.Pods("").List(ctx, options)
	if apierrors.IsForbidden(err) {
		pods, err = core.Pods(controllersNamespace).List(ctx, options)
	}
	if err != nil {
		return nil, err
	}
	return pods.Items, nil
}

func whyNoLogs(right rights.Right, namespace string, err error) string {
	where := fmt.Sprintf("Logs come from the pods with the label %s. ", loglines.ControllersLabel)
	if apierrors.IsForbidden(err) {
		return where + fmt.Sprintf("You may not read them: this needs the right to %s %s in namespace %s. To check: %s. "+
			"Ask an administrator of this cluster to grant it.", right.Verb, right.Resource, namespace, right.Command(namespace))
	}
	return where + fmt.Sprintf("They cannot be read now: %s.", masking.Words(err))
}

// linesAbout returns the lines of a pod that name a deploy item.
func linesAbout(ctx context.Context, core corev1client.PodsGetter, pod *corev1.Pod, item client.ObjectKey) ([]view.LogLine, error) {
	tail, limit := int64(logTail), int64(maxLogBytes)
	options := &corev1.PodLogOptions{TailLines: &tail, LimitBytes: &limit}
	if len(pod.Spec.Containers) > 0 {
		options.Container = pod.Spec.Containers[0].Name
	}
	text, err := core.Pods(pod.Namespace).GetLogs(pod.Name, options).DoRaw(ctx)
	if err != nil {
		return nil, err
	}
	var lines []view.LogLine
	scanner := bufio.NewScanner(bytes.NewReader(text))
	scanner.Buffer(nil, maxLogBytes)
	for scanner.Scan() {
		if line, about := logLineOf(scanner.Text(), item); about {
			lines = append(lines, line)
		}
	}
	return lines, scanner.Err()
}

// logLineOf parses a line of a controller; false if it is not about the deploy item.
func logLineOf(text string, item client.ObjectKey) (view.LogLine, bool) {
	parsed, about := loglines.Parse(text)
	if !about || parsed.About[logKind] != item {
		return view.LogLine{}, false
	}
	line := view.LogLine{Level: parsed.Level, Text: parsed.Text}
	if !parsed.Time.IsZero() {
		line.Time = &parsed.Time
	}
	return line, true
}
