// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package container_test

import (
	"crypto/rand"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	containerv1alpha1 "espalier.dev/api/deployer/container/v1alpha1"
	landscaper "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/deployer/container"
	"espalier.dev/internal/deployer/container/inside"
	"espalier.dev/internal/testkit"
)

// One item from its first job to its deletion: the input of the image, what happens to its output, and that nothing is left.
func TestAnItemFromJobToDeletion(t *testing.T) {
	w := newWorld(t)
	w.process("")
	item := w.item("shop", `
image: registry.example.com/shop:1
command: [/bin/run]
args: [--fast]
importValues: {size: 3, name: "big"}
blueprint: {inline: {filesystem: {blueprint.yaml: "kind: Blueprint", scripts: {run.sh: "echo"}}}}
componentDescriptor: {inline: {meta: {schemaVersion: v2}, component: {name: example.com/shop, version: 1.0.0, provider: acme, repositoryContexts: [{type: ociRegistry, baseUrl: registry.example.com}], resources: [], sources: [], componentReferences: []}}}
`, w.withTarget(map[string]any{"password": "s3cretword"}))
	pod := w.pod(item)
	if main := pod.Spec.Containers[0]; main.Image != "registry.example.com/shop:1" || !slices.Equal(main.Command, []string{"/bin/run"}) ||
		!slices.Equal(main.Args, []string{"--fast"}) {
		t.Errorf("the pod runs %s %v %v", main.Image, main.Command, main.Args)
	}
	w.runs(pod, func(env inside.Environment) (int32, string) {
		for file, want := range map[string]string{
			read(env, inside.EnvImports):                      `{"name":"big","size":3}`,
			read(env, inside.EnvContent, "blueprint.yaml"):    "kind: Blueprint",
			read(env, inside.EnvContent, "scripts", "run.sh"): "echo",
			env(inside.EnvOperation):                          "RECONCILE",
			read(env, inside.EnvExports):                      "",
			env("DEPLOY_ITEM_NAME") + env("KUBERNETES_TOKEN"): "",
		} {
			if file != want {
				t.Errorf("the image finds %q, want %q", file, want)
			}
		}
		var target struct {
			Target  landscaper.Target `json:"target"`
			Content string            `json:"content"`
		}
		if err := json.Unmarshal([]byte(read(env, inside.EnvTarget)), &target); err != nil || target.Target.Name != ownTarget ||
			target.Content != `{"password":"s3cretword"}` {
			t.Errorf("the target is %+v, %v", target, err)
		}
		var descriptors struct {
			Components []struct {
				Component struct{ Name, Version string }
			}
		}
		if err := json.Unmarshal([]byte(read(env, inside.EnvDescriptor)), &descriptors); err != nil || len(descriptors.Components) != 1 ||
			descriptors.Components[0].Component.Name != "example.com/shop" {
			t.Errorf("the component descriptor is %+v, %v", descriptors, err)
		}
		return write(env, inside.EnvExports, "url: https://shop.example.com\nports: [1, 2]\n")
	})
	done := w.succeeds(item)
	want := map[string]any{"url": "https://shop.example.com", "ports": []any{1.0, 2.0}}
	if difference := cmp.Diff(want, w.exports(done)); difference != "" {
		t.Errorf("the exports (-want +got):\n%s", difference)
	}
	status := w.status(item)
	if s := status.PodStatus; status.LastOperation != containerv1alpha1.OperationReconcile || *s.ContainerStatus.ExitCode != 0 ||
		s.LastSuccessfulJobID == nil || *s.LastSuccessfulJobID != "first" || s.LastRun == nil || s.InitContainerStatus.Image != helperImage {
		t.Errorf("the status is %+v", s)
	}
	w.gone(pod)
	if left := w.objects(w.Namespace); slices.ContainsFunc(left, func(s string) bool { return strings.Contains(s, "-input-") }) {
		t.Errorf("after the run, its input is left: %v", left)
	}

	w.Delete(done)
	w.begin(done, "second")
	last := w.pod(item)
	w.runs(last, func(env inside.Environment) (int32, string) {
		if env(inside.EnvOperation) != "DELETE" || read(env, inside.EnvImports) == "" {
			t.Errorf("the image is deleted with %s and imports %q", env(inside.EnvOperation), read(env, inside.EnvImports))
		}
		return 0, ""
	})
	testkit.EventuallyGone(t, w.APIServer, item)
	w.gone(last)
	w.nothingLeft()
}

// A run without exports leaves none, whatever the run before exported.
func TestNoStaleExports(t *testing.T) {
	w := newWorld(t)
	w.process("")
	item := w.item("shop", "image: shop")
	pod := w.pod(item)
	w.runs(pod, func(env inside.Environment) (int32, string) {
		if got := read(env, inside.EnvTarget); got != "null" {
			t.Errorf("without a target, the file is %q", got)
		}
		if _, err := os.Stat(env(inside.EnvImports)); !os.IsNotExist(err) {
			t.Errorf("without imports, their file is there: %v", err)
		}
		return write(env, inside.EnvExports, `{"a": 1}`)
	})
	w.succeeds(item)
	if got := w.exports(item); len(got) != 1 {
		t.Errorf("the exports are %v", got)
	}
	w.begin(item, "second")
	w.runs(w.podAfter(item, string(pod.UID)), nothing)
	w.succeeds(item)
	if got := w.exports(item); got != nil {
		t.Errorf("stale exports: %v", got)
	}
}

func TestExportsMustBeAnObject(t *testing.T) {
	w := newWorld(t)
	w.process("")
	for content, want := range map[string]string{
		"a: 1\nb: [s3cretword\n": "neither JSON nor YAML: line",
		"- s3cretword":           "must be an object",
	} {
		item := w.item("bad"+strconv.Itoa(len(content)), "image: shop")
		w.runs(w.pod(item), func(env inside.Environment) (int32, string) { return write(env, inside.EnvExports, content) })
		failed := w.fails(item)
		if got := lastError(failed); !strings.Contains(got, want) || strings.Contains(got, "s3cret") {
			t.Errorf("%q: got %s", content, got)
		}
	}
}

// The state survives from run to run, byte for byte: also a state larger than the room prepared for it, and the state of a
// failed run.
func TestStateLasts(t *testing.T) {
	w := newWorld(t)
	w.process("")
	item := w.item("shop", "image: shop")
	large := make([]byte, 3<<20)
	_, _ = rand.Read(large) // It never fails.
	pod := w.pod(item)
	w.runs(pod, func(env inside.Environment) (int32, string) {
		if err := os.MkdirAll(filepath.Join(env(inside.EnvState), "deep"), 0o700); err != nil {
			t.Error(err)
		}
		return write(env, inside.EnvState, string(large), "deep", "large")
	})
	w.succeeds(item)
	if got := countOf(w.objects(w.Namespace), "-state-"); got != 4 {
		t.Errorf("the state is in %d Secrets, want 4", got)
	}
	for i, code := range []int32{7, 0, 0} {
		w.begin(item, "again"+strconv.Itoa(i))
		next := w.podAfter(item, string(pod.UID))
		pod = next
		w.runs(next, func(env inside.Environment) (int32, string) {
			if got := read(env, inside.EnvState, "deep", "large"); got != string(large) {
				t.Errorf("run %d: the state has %d bytes, and they differ", i, len(got))
			}
			if got, want := len(read(env, inside.EnvState, "counter")), i; got != want {
				t.Errorf("run %d: the counter is %d", i, got)
			}
			_, _ = write(env, inside.EnvState, strings.Repeat("x", i+1), "counter")
			return code, ""
		})
		if code == 0 {
			w.succeeds(item)
		} else {
			w.fails(item)
		}
	}
}

func countOf(names []string, part string) int {
	n := 0
	for _, name := range names {
		if strings.Contains(name, part) {
			n++
		}
	}
	return n
}

// The state stored by an earlier controller is found, even though that controller truncated it.
func TestStateOfAnEarlierController(t *testing.T) {
	w := newWorld(t)
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "counter"), []byte("41"), 0o600); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		t.Fatal(err)
	}
	packed, err := inside.Pack(root, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	const group = "container.deployer.landscaper.gardener.cloud"
	former := func(name, uuid string, number int, data []byte) *corev1.Secret {
		return &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: w.Namespace, Name: name,
				Labels: map[string]string{
					"deployitem." + group + "/name": "shop", "deployitem." + group + "/namespace": w.Namespace, group + "/type": "state",
				},
				Annotations: map[string]string{group + "/uuid": uuid, group + "/num": strconv.Itoa(number)},
			},
			Data: map[string][]byte{"config": data},
		}
	}
	half := len(packed) / 2
	w.Create(former("state-b", "u", 1, packed[half:len(packed)-4]), former("state-a", "u", 0, packed[:half]))
	w.process("")
	item := w.item("shop", "image: shop")
	pod := w.pod(item)
	w.runs(pod, func(env inside.Environment) (int32, string) {
		if got := read(env, inside.EnvState, "counter"); got != "41" {
			t.Errorf("the counter is %q", got)
		}
		return 0, ""
	})
	w.succeeds(item)
	w.Delete(item)
	w.begin(item, "second")
	w.runs(w.podAfter(item, string(pod.UID)), nothing)
	testkit.EventuallyGone(t, w.APIServer, item)
	if w.Read(former("state-a", "", 0, nil)) || w.Read(former("state-b", "", 0, nil)) {
		t.Error("the state of the earlier controller is left")
	}
}

// The pod is as restricted as possible, and the image gets no access to the API.
func TestPodIsRestricted(t *testing.T) {
	w := newWorld(t, func(o *container.Options) {
		o.NodeSelector = map[string]string{"pool": "jobs"}
		o.Tolerations = []corev1.Toleration{{Key: "jobs", Operator: corev1.TolerationOpExists}}
	})
	w.Patch(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.Namespace}},
		`{"metadata":{"labels":{"pod-security.kubernetes.io/enforce":"restricted"}}}`)
	w.process("")
	pod := w.pod(w.item("shop", "image: shop"))
	tolerated := slices.ContainsFunc(pod.Spec.Tolerations, func(x corev1.Toleration) bool { return x.Key == "jobs" })
	if pod.Spec.NodeSelector["pool"] != "jobs" || !tolerated {
		t.Errorf("the pod goes to %v %v", pod.Spec.NodeSelector, pod.Spec.Tolerations)
	}
	if s := pod.Spec.SecurityContext; *s.RunAsUser != 1000 || *s.RunAsGroup != 3000 || *s.FSGroup != 2000 || !*s.RunAsNonRoot ||
		s.SeccompProfile.Type != corev1.SeccompProfileTypeRuntimeDefault || pod.Spec.RestartPolicy != corev1.RestartPolicyNever {
		t.Errorf("the security context is %+v", s)
	}
	mounts := map[string][]string{}
	for _, c := range append(slices.Clone(pod.Spec.InitContainers), pod.Spec.Containers...) {
		if s := c.SecurityContext; *s.AllowPrivilegeEscalation || !slices.Equal(s.Capabilities.Drop, []corev1.Capability{"ALL"}) {
			t.Errorf("container %s: %+v", c.Name, s)
		}
		for _, m := range c.VolumeMounts {
			mounts[c.Name] = append(mounts[c.Name], m.MountPath)
		}
	}
	want := map[string][]string{
		"init": {inside.SharedDirectory, inside.InputDirectory}, "wait": {inside.SharedDirectory, inside.TokenDirectory},
		"main": {inside.SharedDirectory},
	}
	if difference := cmp.Diff(want, mounts); difference != "" {
		t.Errorf("the mounts (-want +got):\n%s", difference)
	}
}

// Items of the same name in two namespaces share nothing, even if their pods run in the same namespace.
func TestItemsOfTheSameName(t *testing.T) {
	system := testkit.Server(t).Namespace(t)
	other := testkit.Server(t).Namespace(t)
	w := newWorld(t, func(o *container.Options) { o.Namespace = system })
	w.options.Namespaces = nil
	both := &world{World: &testkit.World{T: t, APIServer: w.APIServer}, options: w.options}
	both.process("")
	items := []*landscaper.DeployItem{}
	for _, namespace := range []string{w.Namespace, other} {
		item := w.newItem(namespace, "shop", "importValues: {from: "+namespace+"}")
		w.Create(item)
		w.begin(item, "first")
		items = append(items, item)
	}
	for _, item := range items {
		pod := w.pod(item)
		if pod.Namespace != system {
			t.Errorf("the pod is in %s", pod.Namespace)
		}
		w.runs(pod, func(env inside.Environment) (int32, string) {
			return write(env, inside.EnvExports, read(env, inside.EnvImports))
		})
	}
	for _, item := range items {
		w.succeeds(item)
		if got := w.exports(item); got["from"] != item.Namespace {
			t.Errorf("item %s exports %v", item.Namespace, got)
		}
	}
}
