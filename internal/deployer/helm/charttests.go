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
	// shownLog is how much of the log of a failed test is shown: its end, where programs say what went wrong.
	shownLog = 1500
	// logLines and maxLog bound how much is read of it.
	logLines int64 = 100
	maxLog         = 1 << 20
)

// runTests runs the tests of the chart, if the operation that has made the current revision asks for it. The record of the release tells
// whether they have succeeded for the revision already, also after a crash.
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

// test lets Helm run the tests. It tests whichever revision is the last one, so that must be the one that this job has brought about.
func (p *pass) test(ctx context.Context, h *handle) error {
	memory := p.session.Memory
	doing := trouble{reason: ReasonTest, doing: "test release " + shown(h.reference)}
	history, err := h.history()
	if err != nil {
		return p.failed(ctx, doing, err)
	}
	if wanted := memory.current.Version; len(history) == 0 || history[len(history)-1].Version != wanted {
		memory.current, memory.applied = nil, apply.Memory{}
		return p.failed(ctx, doing, fmt.Errorf("revision %d is not the last one any more: somebody else works on the release", wanted))
	}
	run := action.NewReleaseTesting(h.actions)
	run.Timeout, run.WaitOptions = h.timeout(false), h.waitOptions()
	made, tidyUp, err := run.Run(h.reference.Name)
	if err != nil {
		told := p.testFailed(ctx, h, asRelease(made), err)
		_ = tidyUp() // The test has failed, and that is what counts. A rest is removed before the next run.
		return told
	}
	memory.current = asRelease(made)
	return p.failed(ctx, doing, tidyUp())
}

// testFailed makes an error of what a run of tests came to. A test that has run to its end and failed ends the job: it would fail
// again. What else went wrong may be better at the next try.
func (p *pass) testFailed(ctx context.Context, h *handle, made *release.Release, err error) error {
	doing := trouble{reason: ReasonTest, doing: "test release " + shown(h.reference)}
	hook := testInTrouble(made)
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
	return failure.NewTerminal(details, &concealed{text: doing.doing + " has failed" + text, cause: err})
}

// testInTrouble returns the test that did not come to a good end. Earlier runs may have ended at others.
func testInTrouble(r *release.Release) *release.Hook {
	if r == nil {
		return nil
	}
	var last *release.Hook
	for _, hook := range r.Hooks {
		if !slices.Contains(hook.Events, release.HookTest) || !inTrouble(hook) {
			continue
		}
		if last == nil || hook.LastRun.StartedAt.After(last.LastRun.StartedAt) {
			last = hook
		}
	}
	return last
}

// namespaceOf is where the object of a hook is.
func (h *handle) namespaceOf(hook *release.Hook) string {
	objects, err := documents.Split(hook.Manifest)
	if err == nil && len(objects) > 0 && objects[0].GetNamespace() != "" {
		return objects[0].GetNamespace()
	}
	return h.reference.Namespace
}

// outcome finds out how a test has failed.
type outcome struct {
	ctx       context.Context
	clients   kubernetes.Interface
	namespace string
	secrets   *masking.Values
}

// of reports whether the object of a test says itself that it has failed, and how. Whether it does is all that matters of an error here.
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

// podOf is the last pod of a job that has failed; nil if there is none any more.
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

// end tells how a pod has ended that has failed.
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

// log is the end of the log of a container, for a sentence.
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

// shown is what may be shown of a text: its end, without secrets. They are masked before it is cut, lest a piece of one is left.
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

// addSecretsOf adds what is in the Secrets of a revision: charts make passwords up, and tests may print them.
func addSecretsOf(values *masking.Values, r *release.Release, plain map[string]bool) {
	texts := []string{r.Manifest}
	for _, hook := range r.Hooks {
		texts = append(texts, hook.Manifest)
	}
	for _, text := range texts {
		objects, err := documents.Split(text)
		if err != nil {
			continue // Helm has read it before.
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
