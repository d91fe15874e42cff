// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package canary_test

import (
	"context"
	"encoding/json"
	"maps"
	"os"

	corev1 "k8s.io/api/core/v1"

	"espalier.dev/internal/deployer/container/inside"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/kubelet"
)

func init() { maps.Copy(paths, containerPaths) }

// image runs an image with the given rest of the configuration.
func image(config string) string {
	return deployItem("name: one, type: landscaper.gardener.cloud/container, config: " +
		"{apiVersion: container.deployer.landscaper.gardener.cloud/v1alpha1, kind: ProviderConfiguration, " + config + "}")
}

// runs runs an image that does something with the value.
func runs(action string) string {
	return image("image: i, importValues: {action: " + action + `, word: "@"}`)
}

// containerPaths are the paths of a secret through the container deployer.
var containerPaths = map[string]path{
	"container-image":     {blueprint: image(`image: "@"`), want: "image"},
	"container-field":     {blueprint: image(`"@": x`), want: "unknown field"},
	"container-arguments": {blueprint: image(`image: i, args: "@"`), want: "args"},
	"container-pull-secret": {
		blueprint: image(`image: i, registryPullSecrets: [{name: "@"}]`),
		item:      true,
		want:      "there is no Secret",
	},
	"container-no-pull-secret": {
		blueprint: image(`image: i, registryPullSecrets: [{name: missing}]`),
		item:      true,
		want:      "there is no Secret",
	},
	"container-file":      {blueprint: image(`image: i, blueprint: {inline: {filesystem: {"../@": x}}}`), want: "blueprint"},
	"container-blueprint": {blueprint: image(`image: i, blueprint: {ref: {resourceName: "@"}}`), want: "blueprint"},
	"container-component": {
		blueprint: image(`image: i, componentDescriptor: {ref: {componentName: "@", version: "1", ` +
			`repositoryContext: {type: ociRegistry, baseUrl: "http://127.0.0.1:1"}}}`),
		item: true,
		want: "component",
	},
	"container-repair":   {blueprint: image(`image: i, continuousReconcile: {every: "@"}`), want: "config"},
	"container-says":     {blueprint: runs("says"), want: "exit code 1"},
	"container-exports":  {blueprint: runs("exports"), want: "EXPORTS_PATH"},
	"container-no-start": {blueprint: runs("does-not-start"), want: "cannot start"},
}

// plays runs the pods of the namespace, whose image does what its imports tell it.
func (w *world) plays() {
	w.Helper()
	player := kubelet.Kubelet{Client: w.Client(), Config: w.Config(), TempDir: w.TempDir}
	testkit.Run(w.T, func(ctx context.Context) error {
		return player.Serve(ctx, w.Namespace, func(env inside.Environment) (int32, string) {
			var imports struct{ Action, Word string }
			content, err := os.ReadFile(env(inside.EnvImports))
			if err == nil {
				err = json.Unmarshal(content, &imports)
			}
			switch {
			case err != nil:
			case imports.Action == "exports":
				if err = os.WriteFile(env(inside.EnvExports), []byte("a: {"+imports.Word), 0o600); err == nil {
					return 0, ""
				}
			case imports.Action == "does-not-start":
				if err = w.doesNotStart(ctx, player, env(inside.EnvPodName), imports.Word); err == nil {
					return kubelet.Lost, ""
				}
			default:
				return 1, "this is wrong: " + string(content)
			}
			return 1, err.Error()
		})
	})
}

// doesNotStart lets the node say that it cannot start the image of a pod.
func (w *world) doesNotStart(ctx context.Context, player kubelet.Kubelet, name, word string) error {
	pod := &corev1.Pod{}
	pod.Namespace, pod.Name = w.Namespace, name
	w.Read(pod)
	return player.Tell(ctx, pod, func(s *corev1.PodStatus) {
		s.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{
			Reason: "CreateContainerError", Message: "exec: " + word + ": executable file not found",
		}}}}
	})
}
