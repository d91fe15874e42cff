// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"helm.sh/helm/v4/pkg/action"
	release "helm.sh/helm/v4/pkg/release/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes"

	"espalier.dev/internal/deployer/objects/apply"
	"espalier.dev/internal/deployer/objects/cluster"
	"espalier.dev/internal/deployer/objects/documents"
	"espalier.dev/internal/failure"
	"espalier.dev/internal/masking"
)

const (
	// shownLog is how much of the log of a failed test is shown: its end, where programs report errors.
	shownLog = 1500
	// logLines and maxLog limit how much of the log is read.
	logLines int64 = 100
	maxLog         = 1 << 20
)

// runTests runs the tests of the chart, if the operation that created the current revision requires it. The record of the release shows
// whether they have already succeeded for the revision, even after a crash.
func (p *pass) runTests(ctx context.Context) (*cluster.Wait, error) {
	memory := p.session.Memory
	options := p.config.install
	if memory.upgraded {
		options = p.config.upgrade
	}
	if !options.Test || tested(memory.current) {
		return nil, nil
	}
	return nil, p.withRelease(ctx, p.config.reference(), func(h *handle) error { return p.test(ctx, h) })
}

// tested reports whether all tests of a revision have succeeded.
func tested(r *release.Release) bool {
	return !slices.ContainsFunc(r.Hooks, func(hook *release.Hook) bool {
		return slices.Contains(hook.Events, release.HookTest) && hook.LastRun.Phase != release.HookPhaseSucceeded
	})
}

// test makes Helm run the tests. Helm tests the latest revision, so that must be the one that this job created.
func (p *pass) test(ctx context.Context, h *handle) error {
	memory := p.session.Memory
	doing := attempt{reason: ReasonTest, doing: "test release " + shown(h.reference)}
	history, err := h.history()
	if err != nil {
		return p.failed(ctx, doing, err)
	}
	if wanted := memory.current.Version; len(history) == 0 || history[len(history)-1].Version != wanted {
		memory.current, memory.applied = nil, apply.Memory{}
		return p.failed(ctx, doing, fmt.Errorf("revision %d is no longer the latest: another client is working on the release", wanted))
	}
	run := action.NewReleaseTesting(h.actions)
	run.Timeout, run.WaitOptions = h.timeout(false), h.waitOptions()
	made, tidyUp, err := run.Run(h.reference.Name)
	if err != nil {
		told := p.testFailed(ctx, h, asRelease(made), err)
		_ = tidyUp() // The error is that of the test. Leftovers are removed before the next run.
		return told
	}
	memory.current = asRelease(made)
	return p.failed(ctx, doing, tidyUp())
}

// testFailed returns the error of a run of tests. A test that ran and failed ends the job: a retry would fail again. Any other
// error may be temporary.
func (p *pass) testFailed(ctx context.Context, h *handle, made *release.Release, err error) error {
	doing := attempt{reason: ReasonTest, doing: "test release " + shown(h.reference)}
	hook := failedTest(made)
	if hook == nil {
		return p.failed(ctx, doing, err)
	}
	namespace := h.namespaceOf(hook)
	doing.doing += fmt.Sprintf(": the test %s %s/%s (%s)", hook.Kind, namespace, hook.Name, hook.Path)
	if context.Cause(ctx) != nil {
		return p.failed(ctx, doing, err)
	}
	clients, clientErr := h.actions.KubernetesClientSet()
	if clientErr != nil {
		return p.failed(ctx, doing, err)
	}
	o := outcome{ctx: ctx, clients: clients, namespace: namespace, secrets: p.ownSecrets()}
	addSecretsOf(o.secrets, made, p.plainWords())
	text, failed := o.of(hook)
	if !failed {
		return p.failed(ctx, doing, err)
	}
	details := failure.Details{Operation: "Helm", Reason: ReasonTest}
	return failure.NewTerminal(details, &concealed{text: doing.doing + " failed" + text, cause: err})
}

// failedTest returns the test that failed last. Earlier runs may have failed at other tests.
func failedTest(r *release.Release) *release.Hook {
	if r == nil {
		return nil
	}
	var last *release.Hook
	for _, hook := range r.Hooks {
		if !slices.Contains(hook.Events, release.HookTest) || !unsuccessful(hook) {
			continue
		}
		if last == nil || hook.LastRun.StartedAt.After(last.LastRun.StartedAt) {
			last = hook
		}
	}
	return last
}

// namespaceOf returns the namespace of a hook's object.
func (h *handle) namespaceOf(hook *release.Hook) string {
	objects, err := documents.Split(hook.Manifest)
	if err == nil && len(objects) > 0 && objects[0].GetNamespace() != "" {
		return objects[0].GetNamespace()
	}
	return h.reference.Namespace
}

// outcome determines how a test failed.
type outcome struct {
	ctx       context.Context
	clients   kubernetes.Interface
	namespace string
	secrets   *masking.Values
}

// of reports whether the object of a test shows that the test failed, and how. A read error counts as no.
func (o outcome) of(hook *release.Hook) (text string, failed bool) {
	switch hook.Kind {
	case "Pod":
		pod, err := o.clients.CoreV1().Pods(o.namespace).Get(o.ctx, hook.Name, metav1.GetOptions{})
		if err != nil || pod.Status.Phase != corev1.PodFailed {
			return "", false
		}
		return o.end(pod, "")
	case "Job":
		job, err := o.clients.BatchV1().Jobs(o.namespace).Get(o.ctx, hook.Name, metav1.GetOptions{})
		if err != nil || !hasFailed(job) {
			return "", false
		}
		pod := o.podOf(job)
		if pod == nil {
			return "", true
		}
		return o.end(pod, fmt.Sprintf(" of Pod %s/%s", pod.Namespace, pod.Name))
	}
	return "", false
}

func hasFailed(job *batchv1.Job) bool {
	return slices.ContainsFunc(job.Status.Conditions, func(c batchv1.JobCondition) bool {
		return c.Type == batchv1.JobFailed && c.Status == corev1.ConditionTrue
	})
}

// podOf returns the last failed pod of a job; nil if none is left.
func (o outcome) podOf(job *batchv1.Job) *corev1.Pod {
	list, err := o.clients.CoreV1().Pods(o.namespace).List(o.ctx, metav1.ListOptions{LabelSelector: "job-name=" + job.Name})
	if err != nil {
		return nil
	}
	pods := slices.DeleteFunc(list.Items, func(pod corev1.Pod) bool { return pod.Status.Phase != corev1.PodFailed })
	if len(pods) == 0 {
		return nil
	}
	last := slices.MaxFunc(pods, func(a, b corev1.Pod) int { return a.CreationTimestamp.Compare(b.CreationTimestamp.Time) })
	return &last
}

// end describes the end of a failed pod.
func (o outcome) end(pod *corev1.Pod, which string) (string, bool) {
	for _, status := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		terminated := status.State.Terminated
		if terminated == nil || terminated.ExitCode == 0 {
			continue
		}
		text := fmt.Sprintf(": container %s%s ended with exit code %d", status.Name, which, terminated.ExitCode)
		return text + o.log(pod, status.Name), true
	}
	if why := o.shown(strings.Trim(pod.Status.Reason+": "+pod.Status.Message, ": ")); why != "" {
		return ": " + why, true
	}
	return "", true
}

// log returns the end of a container's log, for a sentence.
func (o outcome) log(pod *corev1.Pod, container string) string {
	lines := logLines
	options := &corev1.PodLogOptions{Container: container, TailLines: &lines}
	stream, err := o.clients.CoreV1().Pods(pod.Namespace).GetLogs(pod.Name, options).Stream(o.ctx)
	if err != nil {
		return ". Its log cannot be read: " + o.shown(masking.Words(err))
	}
	defer stream.Close()
	text, err := io.ReadAll(io.LimitReader(stream, maxLog))
	if err != nil {
		return ". Its log cannot be read: " + o.shown(masking.Words(err))
	}
	if end := o.shown(string(text)); end != "" {
		return ". Its log ends with: " + end
	}
	return ". Its log is empty"
}

// shown returns the end of a text, without secrets. They are masked before the text is cut, so that no part of a secret remains.
func (o outcome) shown(text string) string {
	text = strings.TrimSpace(strings.ToValidUTF8(o.secrets.Text(text), "?"))
	if len(text) <= shownLog {
		return text
	}
	cut := len(text) - shownLog
	for !utf8.RuneStart(text[cut]) {
		cut++
	}
	return "..." + text[cut:]
}

// addSecretsOf adds the content of a revision's Secrets: charts generate passwords, and tests may print them.
func addSecretsOf(values *masking.Values, r *release.Release, plain map[string]bool) {
	texts := []string{r.Manifest}
	for _, hook := range r.Hooks {
		texts = append(texts, hook.Manifest)
	}
	for _, text := range texts {
		objects, err := documents.Split(text)
		if err != nil {
			continue // Helm has parsed it before.
		}
		for _, object := range objects {
			if object.GroupVersionKind() == corev1.SchemeGroupVersion.WithKind("Secret") {
				addSecret(values, object, plain)
			}
		}
	}
}

func addSecret(values *masking.Values, object *unstructured.Unstructured, plain map[string]bool) {
	written, _, _ := unstructured.NestedMap(object.Object, "stringData")
	addLeaves(values, written, plain)
	encoded, _, _ := unstructured.NestedMap(object.Object, "data")
	for _, value := range encoded {
		text, _ := value.(string)
		if content, err := base64.StdEncoding.DecodeString(text); err == nil {
			addLeaves(values, string(content), plain)
		}
	}
}
