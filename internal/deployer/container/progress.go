// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package container

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	containerv1alpha1 "espalier.dev/api/deployer/container/v1alpha1"
	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/deployer"
	"espalier.dev/internal/confidential"
	"espalier.dev/internal/deployer/container/inside"
	"espalier.dev/internal/failure"
	"espalier.dev/internal/masking"
)

// hopeless are the waiting reasons of containers that cannot start without a change: the image or the pod is wrong.
var hopeless = []string{
	"ErrImagePull", "ImagePullBackOff", "InvalidImageName", "RegistryUnavailable", "ErrImageNeverPull", "ImageInspectError",
	"SignatureValidationFailed", "CreateContainerConfigError", "CreateContainerError",
}

// operations name the work of each container, for errors.
var operations = map[string]string{initContainer: "RunInitContainer", waitContainer: "RunWaitContainer", mainContainer: "RunMainContainer"}

// progressOf returns the progress of the run of a pod.
func (p *pass) progressOf(ctx context.Context, pod *corev1.Pod) (deployer.Progress, error) {
	secrets := p.secretsIn(ctx, pod)
	p.note(pod, secrets)
	progress := deployer.Progress{ProviderStatus: p.status, Recheck: recheck}
	if ended(pod) || pod.DeletionTimestamp != nil && pod.Spec.NodeName == "" {
		return p.conclude(ctx, pod, secrets)
	}
	if at, state := stuck(pod); state != nil {
		p.status.PodStatus.EndedAt = new(metav1.NewTime(p.work.Now))
		return progress, failure.Terminalf(failure.Details{Operation: operations[at], Reason: state.Reason},
			"container %s of Pod %s/%s cannot start: %s: %s", at, pod.Namespace, pod.Name, state.Reason, told(state.Message, secrets))
	}
	progress.Waiting = p.awaited(pod, secrets)
	if progress.Waiting.Code == WaitingForResult {
		progress.Recheck = storingRecheck
		return progress, p.grant(ctx, pod)
	}
	return progress, nil
}

// stuck returns a container that cannot start without a change, and its state.
func stuck(pod *corev1.Pod) (string, *corev1.ContainerStateWaiting) {
	for _, status := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		if waiting := status.State.Waiting; waiting != nil && slices.Contains(hopeless, waiting.Reason) {
			return status.Name, waiting
		}
	}
	return "", nil
}

// awaited returns what a pod that has not ended waits for.
func (p *pass) awaited(pod *corev1.Pod, secrets *masking.Values) deployer.Reason {
	name := fmt.Sprintf("Pod %s/%s", pod.Namespace, pod.Name)
	scheduled := condition(pod, corev1.PodScheduled)
	status := statusOf(pod, mainContainer)
	switch {
	case pod.DeletionTimestamp != nil:
		return deployer.Reason{Code: WaitingForTermination, Message: name + " is being deleted by another client" + onNode(pod)}
	case scheduled != nil && scheduled.Status == corev1.ConditionFalse:
		return deployer.Reason{Code: WaitingForNode, Message: fmt.Sprintf("%s cannot be scheduled: %s", name, told(scheduled.Message, secrets))}
	case pod.Spec.NodeName == "":
		return deployer.Reason{Code: WaitingForPod, Message: name + " waits to be scheduled on a node"}
	case status != nil && status.State.Terminated != nil:
		return deployer.Reason{Code: WaitingForResult, Message: name + ": the image has ended; exports and state are being stored"}
	case status != nil && status.State.Running != nil:
		return deployer.Reason{Code: WaitingForPod, Message: fmt.Sprintf("%s is running%s with operation %s", name, onNode(pod), p.operation)}
	}
	return deployer.Reason{Code: WaitingForPod, Message: name + " is starting" + onNode(pod)}
}

func condition(pod *corev1.Pod, kind corev1.PodConditionType) *corev1.PodCondition {
	for i := range pod.Status.Conditions {
		if pod.Status.Conditions[i].Type == kind {
			return &pod.Status.Conditions[i]
		}
	}
	return nil
}

func statusOf(pod *corev1.Pod, container string) *corev1.ContainerStatus {
	all := slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses)
	for i := range all {
		if all[i].Name == container {
			return &all[i]
		}
	}
	return nil
}

// conclude returns the result of a pod that has ended. The input is no longer needed.
func (p *pass) conclude(ctx context.Context, pod *corev1.Pod, secrets *masking.Values) (deployer.Progress, error) {
	p.status.PodStatus.EndedAt = new(metav1.NewTime(p.work.Now))
	progress := deployer.Progress{ProviderStatus: p.status}
	if err := p.dropInputOf(ctx, pod); err != nil {
		return progress, err
	}
	if err := p.failed(pod, secrets); err != nil {
		return progress, err
	}
	if p.operation == containerv1alpha1.OperationDelete {
		// Its result is no longer needed, and a process that ended in the middle of the deletion may have removed it already.
		progress.Done = true
		return progress, nil
	}
	result, err := p.result(ctx)
	if err != nil {
		return progress, err
	}
	if result == nil || result.Annotations[inside.AnnotationRun] != p.run {
		why := "container wait left no message"
		if status := statusOf(pod, waitContainer); status != nil && status.State.Terminated != nil && status.State.Terminated.Message != "" {
			why = told(status.State.Terminated.Message, secrets)
		}
		return progress, failure.Terminalf(failure.Details{Operation: operations[waitContainer], Reason: "ResultNotStored"},
			"the image ended with exit code 0, but its exports and state could not be stored: %s", why)
	}
	if progress.Exports, err = readExports(result.Data[inside.SecretKey]); err != nil {
		return progress, err
	}
	p.status.PodStatus.LastSuccessfulJobID = new(p.work.Item.Status.JobID)
	progress.Done = true
	return progress, nil
}

// failed returns the error of a pod whose image did not exit with 0.
func (p *pass) failed(pod *corev1.Pod, secrets *masking.Values) error {
	status := statusOf(pod, mainContainer)
	if status != nil && status.State.Terminated != nil && status.State.Terminated.ExitCode == 0 {
		return nil
	}
	for _, name := range []string{initContainer, mainContainer} {
		status := statusOf(pod, name)
		if status == nil || status.State.Terminated == nil || status.State.Terminated.ExitCode == 0 {
			continue
		}
		return failure.Terminalf(failure.Details{Operation: operations[name], Reason: cmp.Or(status.State.Terminated.Reason, "ContainerFailed")},
			"container %s of Pod %s/%s ended with exit code %d%s%s", name, pod.Namespace, pod.Name, status.State.Terminated.ExitCode,
			because(pod, secrets), lastWords(status.State.Terminated.Message, secrets))
	}
	return p.endedEarly(pod, secrets)
}

// endedEarly returns the error of a pod that ended before its image did.
func (p *pass) endedEarly(pod *corev1.Pod, secrets *masking.Values) error {
	why := because(pod, secrets)
	if pod.Spec.NodeName != "" && pod.Status.Phase != corev1.PodFailed {
		return p.removed(why)
	}
	if why == "" && pod.DeletionTimestamp != nil {
		why = ": it was deleted"
	}
	return failure.Terminalf(failure.Details{Operation: "Run", Reason: cmp.Or(pod.Status.Reason, "PodFailed")},
		"Pod %s/%s ended before its image did%s", pod.Namespace, pod.Name, why)
}

// because returns the cause of a pod's end according to its status.
func because(pod *corev1.Pod, secrets *masking.Values) string {
	text := strings.Trim(pod.Status.Reason+": "+pod.Status.Message, ": ")
	if disrupted := condition(pod, corev1.DisruptionTarget); text == "" && disrupted != nil && disrupted.Status == corev1.ConditionTrue {
		text = strings.Trim(disrupted.Reason+": "+disrupted.Message, ": ")
	}
	if text == "" {
		return ""
	}
	return " (" + told(text, secrets) + ")"
}

func lastWords(message string, secrets *masking.Values) string {
	if text := told(message, secrets); text != "" {
		return ". Last output: " + text
	}
	return ""
}

// maxTold is how much of a message is shown: its end, where programs report errors.
const maxTold = 1500

// told masks and shortens a message.
func told(message string, secrets *masking.Values) string {
	text := strings.TrimSpace(strings.ToValidUTF8(secrets.Text(message), "?"))
	if len(text) <= maxTold {
		return text
	}
	cut := len(text) - maxTold
	for !utf8.RuneStart(text[cut]) {
		cut++
	}
	return "..." + text[cut:]
}

// secretsIn returns the values that messages of a pod must not show. It reads them only if there is a message.
func (p *pass) secretsIn(ctx context.Context, pod *corev1.Pod) *masking.Values {
	if !talks(pod) {
		return &masking.Values{}
	}
	values := confidential.Reader{Live: p.live}.OfDeployItem(ctx, p.work.Item)
	if !values.Known() {
		return values
	}
	if p.config != nil && p.config.imports != nil {
		values.AddText(string(p.config.imports))
	}
	if t := p.work.Target; t != nil {
		content, err := p.targets(ctx, t)
		if err != nil {
			return masking.Unknown(err)
		}
		values.AddCredentials(map[string][]byte{"content": content})
	}
	return values
}

// talks reports whether a pod has any message.
func talks(pod *corev1.Pod) bool {
	for _, kind := range []corev1.PodConditionType{corev1.PodScheduled, corev1.DisruptionTarget} {
		if c := condition(pod, kind); c != nil && c.Message != "" {
			return true
		}
	}
	if pod.Status.Message != "" {
		return true
	}
	all := slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses)
	return slices.ContainsFunc(all, func(s corev1.ContainerStatus) bool {
		return s.State.Waiting != nil && s.State.Waiting.Message != "" || s.State.Terminated != nil && s.State.Terminated.Message != ""
	})
}

// note copies the state of a pod into the provider status.
func (p *pass) note(pod *corev1.Pod, secrets *masking.Values) {
	before := p.status.PodStatus
	p.status.LastOperation = p.operation
	p.status.PodStatus = &containerv1alpha1.PodStatus{
		PodName: pod.Name, LastRun: new(pod.CreationTimestamp), Run: p.run, LastSuccessfulJobID: before.LastSuccessfulJobID,
		ContainerStatus:     shown(pod, mainContainer, secrets),
		InitContainerStatus: shown(pod, initContainer, secrets),
		WaitContainerStatus: shown(pod, waitContainer, secrets),
	}
	if before.Run == p.run {
		p.status.PodStatus.EndedAt = before.EndedAt
	}
}

// shown returns the provider status of a container.
func shown(pod *corev1.Pod, name string, secrets *masking.Values) containerv1alpha1.ContainerStatus {
	var result containerv1alpha1.ContainerStatus
	for _, container := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		if container.Name == name {
			result.Image = container.Image
		}
	}
	status := statusOf(pod, name)
	if status == nil {
		return result
	}
	result.ImageID = status.ImageID
	switch state := status.State; {
	case state.Waiting != nil:
		result.Reason, result.Message = state.Waiting.Reason, told(state.Waiting.Message, secrets)
		result.State.Waiting = &containerv1alpha1.ContainerStateWaiting{Reason: result.Reason, Message: result.Message}
	case state.Running != nil:
		result.State.Running = &containerv1alpha1.ContainerStateRunning{StartedAt: new(state.Running.StartedAt)}
	case state.Terminated != nil:
		end := state.Terminated
		result.Reason, result.Message, result.ExitCode = end.Reason, told(end.Message, secrets), new(end.ExitCode)
		result.State.Terminated = &containerv1alpha1.ContainerStateTerminated{
			ExitCode: end.ExitCode, Signal: end.Signal, Reason: end.Reason, Message: result.Message,
			StartedAt: new(end.StartedAt), FinishedAt: new(end.FinishedAt), ContainerID: end.ContainerID,
		}
	}
	return result
}

var linePattern = regexp.MustCompile(`line \d+`)

// readExports parses the exports file: an object, in JSON or YAML. Decoder errors may quote values, so only the line number is reported.
func readExports(content []byte) (map[string]any, error) {
	if len(strings.TrimSpace(string(content))) == 0 {
		return nil, nil
	}
	text, err := yaml.YAMLToJSONStrict(content)
	if err != nil {
		where := linePattern.FindString(err.Error())
		return nil, badExports("the file EXPORTS_PATH is neither JSON nor YAML" + strings.TrimRight(": "+where, ": "))
	}
	var exports map[string]any
	if err := json.Unmarshal(text, &exports); err != nil {
		return nil, badExports("the file EXPORTS_PATH must be an object whose keys are the names of the exports")
	}
	return exports, nil
}

func badExports(text string) error {
	return failure.Terminalf(failure.Details{
		Operation: "ReadExports", Reason: "InvalidExports", Codes: []string{string(lsv1alpha1.ErrorConfigurationProblem)},
	}, "%s", text)
}

// unforced adds to an error how to delete without running the image.
func unforced(err error) error {
	if failure.KindOf(err) != failure.Terminal {
		return err
	}
	return failure.NewTerminal(failure.DetailsOf(err), fmt.Errorf("%w; to delete without running the image, set the annotation %s on the deploy item",
		err, containerv1alpha1.ForceCleanupAnnotation))
}
