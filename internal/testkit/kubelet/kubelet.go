// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package kubelet plays the kubelet for pods of the container deployer where there is no node: it lays out volumes from the Secrets that a
// pod names, asks the API server for the token that the pod gets, runs what the containers would run, and reports their state to the API
// server. The helpers of the pod are the real ones; of the image, tests say what it does.
package kubelet

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"espalier.dev/internal/deployer/container/inside"
)

// Kubelet runs pods.
type Kubelet struct {
	Client client.WithWatch
	// Config connects the helpers of pods to the API server; only its address and its authority are used.
	Config *rest.Config
	// TempDir creates a directory that lasts as long as the test.
	TempDir func() string
}

// Image plays the container main: it gets its environment, and returns an exit code and its termination message.
type Image func(env inside.Environment) (code int32, words string)

// Nothing is an image that does nothing.
func Nothing(inside.Environment) (int32, string) { return 0, "" }

// Lost is the exit code of an image that is never heard of again: the pod stays as if it was running, and the test decides what happens to
// it.
const Lost int32 = -1

// Endless is an image that runs until the test ends it.
func Endless(inside.Environment) (int32, string) { return Lost, "" }

// Bind assigns a pod to a node.
func (k Kubelet) Bind(ctx context.Context, pod *corev1.Pod) error {
	to := &corev1.Binding{Target: corev1.ObjectReference{Kind: "Node", Name: "node"}}
	if err := k.Client.SubResource("binding").Create(ctx, pod, to); err != nil {
		return err
	}
	return k.Client.Get(ctx, client.ObjectKeyFromObject(pod), pod)
}

// Tell changes the status of a pod.
func (k Kubelet) Tell(ctx context.Context, pod *corev1.Pod, change func(*corev1.PodStatus)) error {
	before := pod.DeepCopy()
	change(&pod.Status)
	return k.Client.Status().Patch(ctx, pod, client.MergeFrom(before))
}

// Running returns the status of a running container.
func Running(name string) corev1.ContainerStatus {
	return corev1.ContainerStatus{
		Name: name, ImageID: "sha256:0", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Now()}},
	}
}

// Terminated returns the status of a container that has ended.
func Terminated(name string, code int32, words string) corev1.ContainerStatus {
	reason := "Completed"
	if code != 0 {
		reason = "Error"
	}
	return corev1.ContainerStatus{Name: name, ImageID: "sha256:0", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
		ExitCode: code, Reason: reason, Message: words, StartedAt: metav1.Now(), FinishedAt: metav1.Now(),
	}}}
}

// Run runs a pod from start to end.
func (k Kubelet) Run(ctx context.Context, pod *corev1.Pod, main Image) error {
	if err := k.Bind(ctx, pod); err != nil {
		return err
	}
	n, err := k.Node(ctx, pod)
	if err != nil {
		return err
	}
	if failed := inside.Init(n.Env("init")); failed != nil {
		return k.Tell(ctx, pod, func(s *corev1.PodStatus) {
			s.Phase, s.InitContainerStatuses = corev1.PodFailed, []corev1.ContainerStatus{Terminated("init", 1, failed.Error())}
		})
	}
	if err := k.Tell(ctx, pod, func(s *corev1.PodStatus) {
		s.Phase, s.InitContainerStatuses = corev1.PodRunning, []corev1.ContainerStatus{Terminated("init", 0, ""), Running("wait")}
		s.ContainerStatuses = []corev1.ContainerStatus{Running("main")}
	}); err != nil {
		return err
	}
	code, words := main(n.Env("main"))
	if code == Lost {
		return nil
	}
	return n.Stop(ctx, Terminated("main", code, words))
}

// Serve runs the pods of a namespace, one after the other, until the context ends. A pod that is deleted meanwhile is no error, and one
// whose Secrets are missing does not start.
func (k Kubelet) Serve(ctx context.Context, namespace string, main Image) error {
	for ctx.Err() == nil {
		if err := k.watch(ctx, namespace, main); err != nil && ctx.Err() == nil {
			return err
		}
	}
	return nil
}

// watch runs pods until the API server ends the watch, which it does if the reader is slow. The next watch starts with all existing pods.
func (k Kubelet) watch(ctx context.Context, namespace string, main Image) error {
	pods, err := k.Client.Watch(ctx, &corev1.PodList{}, client.InNamespace(namespace))
	if err != nil {
		return err
	}
	defer pods.Stop()
	for event := range pods.ResultChan() {
		pod, known := event.Object.(*corev1.Pod)
		if !known || pod.Spec.NodeName != "" || pod.DeletionTimestamp != nil {
			continue
		}
		err := k.Run(ctx, pod, main)
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			return fmt.Errorf("run pod %s: %w", pod.Name, err)
		}
	}
	return nil
}

// Node contains the directories of a pod.
type Node struct {
	// Shared is shared by all containers; only the sidecar has Token.
	Shared, Token string

	kubelet    Kubelet
	pod        *corev1.Pod
	host, port string
	input      string
}

// Node creates the volumes of a pod.
func (k Kubelet) Node(ctx context.Context, pod *corev1.Pod) (*Node, error) {
	address, err := url.Parse(k.Config.Host)
	if err != nil {
		return nil, err
	}
	n := &Node{kubelet: k, pod: pod, host: address.Hostname(), port: address.Port()}
	n.Shared, n.input, n.Token = k.TempDir(), k.TempDir(), k.TempDir()
	for _, volume := range pod.Spec.Volumes {
		if volume.Name != "input" {
			continue
		}
		for _, source := range volume.Projected.Sources {
			if err := n.project(ctx, source.Secret); err != nil {
				return nil, err
			}
		}
	}
	return n, n.authorize(ctx)
}

func (n *Node) project(ctx context.Context, source *corev1.SecretProjection) error {
	secret := &corev1.Secret{}
	if err := n.kubelet.Client.Get(ctx, client.ObjectKey{Namespace: n.pod.Namespace, Name: source.Name}, secret); err != nil {
		return fmt.Errorf("lay out the Secret %s that the pod names: %w", source.Name, err)
	}
	for _, item := range source.Items {
		file := filepath.Join(n.input, item.Path)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(file, secret.Data[item.Key], 0o600); err != nil {
			return err
		}
	}
	return nil
}

// authorize gets the token that the kubelet would get for the pod.
func (n *Node) authorize(ctx context.Context) error {
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: n.pod.Namespace, Name: n.pod.Spec.ServiceAccountName}}
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
		BoundObjectRef: &authenticationv1.BoundObjectReference{Kind: "Pod", APIVersion: "v1", Name: n.pod.Name, UID: n.pod.UID},
	}}
	if err := n.kubelet.Client.SubResource("token").Create(ctx, account, request); err != nil {
		return fmt.Errorf("get a token for service account %s: %w", account.Name, err)
	}
	for name, content := range map[string][]byte{"token": []byte(request.Status.Token), "ca.crt": n.kubelet.Config.CAData} {
		if err := os.WriteFile(filepath.Join(n.Token, name), content, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// Stopped returns a channel that signals the sidecar that the image has stopped.
func Stopped() <-chan os.Signal {
	stopped := make(chan os.Signal)
	close(stopped)
	return stopped
}

// Stop ends a pod whose image has ended.
func (n *Node) Stop(ctx context.Context, main corev1.ContainerStatus) error {
	if err := n.kubelet.Tell(ctx, n.pod, func(s *corev1.PodStatus) { s.ContainerStatuses = []corev1.ContainerStatus{main} }); err != nil {
		return err
	}
	waited := Terminated("wait", 0, "")
	if err := inside.Wait(ctx, n.Env("wait"), Stopped()); err != nil {
		waited = Terminated("wait", 1, err.Error())
	}
	return n.kubelet.Tell(ctx, n.pod, func(s *corev1.PodStatus) {
		s.Phase = corev1.PodSucceeded
		if main.State.Terminated.ExitCode != 0 {
			s.Phase = corev1.PodFailed
		}
		s.InitContainerStatuses = []corev1.ContainerStatus{Terminated("init", 0, ""), waited}
	})
}

// Env returns the environment of a container, with the directories of the node.
func (n *Node) Env(container string) inside.Environment {
	values := map[string]string{"KUBERNETES_SERVICE_HOST": n.host, "KUBERNETES_SERVICE_PORT": n.port}
	directories := strings.NewReplacer(inside.SharedDirectory, n.Shared, inside.InputDirectory, n.input, inside.TokenDirectory, n.Token)
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
