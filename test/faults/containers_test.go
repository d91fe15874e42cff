// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/deployer/container"
	"espalier.dev/internal/deployer/container/inside"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/kubelet"
	"espalier.dev/test/faults/invariant"
)

// containerWorkloads are what users do with images, and what happens to pods and nodes.
var containerWorkloads = []workload{
	{"press", []act{press, pressAgain, clearPress}},
	{"mishap", []act{pressEvicted, pressRecovered, pressLost, pressOnLostNode, clearPress}},
}

// containerKinds are what the container deployer creates, in addition to Secrets.
var containerKinds = []client.Object{&corev1.Pod{}, &corev1.ServiceAccount{}, &rbacv1.Role{}, &rbacv1.RoleBinding{}}

// nodes are those of the cluster in which pods run: this process plays the kubelet.
type nodes struct {
	once sync.Once

	mutex sync.Mutex
	image kubelet.Image
	runs  []string // the operations for which the image ran, in order
}

// run runs the current image of pods.
func (n *nodes) run(env inside.Environment) (int32, string) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	n.runs = append(n.runs, strings.TrimSpace(env(inside.EnvOperation)+" "+importedSize(env)))
	return n.image(env)
}

// pods sets the image of pods from now on. The first call gives the scene nodes.
func (s *scene) pods(t *testing.T, image kubelet.Image) {
	t.Helper()
	s.nodes.mutex.Lock()
	s.nodes.image = image
	s.nodes.mutex.Unlock()
	s.nodes.once.Do(func() {
		ctx, stop := context.WithCancel(context.Background())
		served := make(chan error, 1)
		all := kubelet.Kubelet{Client: s.Client(), Config: s.Config(), TempDir: t.TempDir}
		go func() { served <- all.Serve(ctx, s.namespace, s.nodes.run) }()
		t.Cleanup(func() {
			stop()
			if err := <-served; err != nil {
				t.Errorf("play the kubelet: %v", err)
			}
		})
	})
}

// haveRun checks for which operations the image has run so far.
func (s *scene) haveRun(t testing.TB, want ...string) {
	t.Helper()
	s.nodes.mutex.Lock()
	defer s.nodes.mutex.Unlock()
	if !slices.Equal(s.nodes.runs, want) {
		t.Errorf("the image was run for %q, want %q", s.nodes.runs, want)
	}
}

func importedSize(env inside.Environment) string {
	var imports struct {
		Size string `json:"size"`
	}
	content, err := os.ReadFile(env(inside.EnvImports))
	if err != nil || json.Unmarshal(content, &imports) != nil {
		return ""
	}
	return imports.Size
}

// pressing is an image that exports its input, and how often it has run so far, which it counts in its state.
func pressing(env inside.Environment) (int32, string) {
	counter := filepath.Join(env(inside.EnvState), "counter")
	before, err := os.ReadFile(counter)
	if err != nil && !os.IsNotExist(err) {
		return 1, err.Error()
	}
	if err := os.WriteFile(counter, append(before, 'x'), 0o600); err != nil {
		return 1, err.Error()
	}
	exports := fmt.Sprintf(`{"juice": "%s-%d"}`, importedSize(env), len(before)+1)
	if err := os.WriteFile(env(inside.EnvExports), []byte(exports), 0o600); err != nil {
		return 1, err.Error()
	}
	return 0, ""
}

// containerItem returns a deploy item that runs an image with the imported size.
func containerItem(name string) any {
	return item(name, lsv1alpha1.DeployItemTypeContainer, map[string]any{
		"apiVersion": "container.deployer.landscaper.gardener.cloud/v1alpha1", "kind": "ProviderConfiguration",
		"image": "registry.example.com/press:1", "importValues": map[string]any{"size": "{{ .imports.size }}"},
	}, nil)
}

func (s *scene) cider() *lsv1alpha1.Installation {
	b := blueprint{
		imports: []string{"size"}, items: []any{containerItem("press")}, exports: map[string]string{"juice": ofItem("press", "juice")},
	}
	return s.root("cider", b, "size").ExportData("juice", "juice").Reconcile().Build()
}

// An image runs, runs again with its state and other imports, and cleans up.

func press(t *testing.T, s *scene) {
	s.pods(t, pressing)
	s.create(t, s.sized("small"), s.cider())
	s.succeeds(t, "cider")
	s.exported(t, "juice", "small-1")
	s.noPods(t)
	s.haveRun(t, "RECONCILE small")
	s.rest(t, "pressed")
}

func pressAgain(t *testing.T, s *scene) {
	s.patch(t, s.sized("small"), `{"data":"large"}`)
	s.ask(t, "cider", lsv1alpha1.OperationReconcile)
	s.succeeds(t, "cider")
	s.exported(t, "juice", "large-2")
	s.noPods(t)
	s.haveRun(t, "RECONCILE small", "RECONCILE large")
	s.rest(t, "pressed again")
}

func clearPress(t *testing.T, s *scene) {
	s.nodes.mutex.Lock()
	before := slices.Clone(s.nodes.runs)
	s.nodes.mutex.Unlock()
	size := strings.TrimPrefix(before[len(before)-1], "RECONCILE ")
	s.pods(t, pressing)
	s.remove(t, "cider")
	s.gone(t, "cider")
	s.noPods(t)
	s.haveRun(t, append(before, "DELETE "+size)...)
	s.rest(t, "cleared")
	s.nothingLeft(t)
}

// A pod is evicted, another one removed by somebody, a third one lost with its node: each time the job ends, because nobody knows how far
// the image has come, and the next job runs it.

func pressEvicted(t *testing.T, s *scene) {
	s.pods(t, kubelet.Endless)
	s.create(t, s.sized("small"), s.cider())
	s.tell(t, s.podAtWork(t), func(status *corev1.PodStatus) {
		status.Phase, status.Reason, status.Message = corev1.PodFailed, "Evicted", "The node was low on resource: memory."
	})
	s.ends(t, "cider", lsv1alpha1.PhaseFailed)
	s.haveRun(t, "RECONCILE small")
	s.rest(t, "evicted")
}

func pressRecovered(t *testing.T, s *scene) {
	s.pods(t, pressing)
	s.ask(t, "cider", lsv1alpha1.OperationReconcile)
	s.succeeds(t, "cider")
	s.exported(t, "juice", "small-1")
	s.noPods(t)
	s.haveRun(t, "RECONCILE small", "RECONCILE small")
	s.rest(t, "recovered")
}

func pressLost(t *testing.T, s *scene) {
	s.pods(t, kubelet.Endless)
	s.ask(t, "cider", lsv1alpha1.OperationReconcile)
	pod := s.podAtWork(t)
	s.patch(t, pod, `{"metadata":{"finalizers":null}}`)
	s.erase(t, pod)
	s.ends(t, "cider", lsv1alpha1.PhaseFailed)
	s.noPods(t)
	s.haveRun(t, "RECONCILE small", "RECONCILE small", "RECONCILE small")
	s.rest(t, "lost")
}

// pressOnLostNode makes a node vanish as in Kubernetes: the pod's status is no longer updated, the pod is marked for deletion, nobody
// deletes it, and at last it is collected because its node is gone.
func pressOnLostNode(t *testing.T, s *scene) {
	s.ask(t, "cider", lsv1alpha1.OperationReconcile)
	pod := s.podAtWork(t)
	s.tell(t, pod, func(status *corev1.PodStatus) { status.Phase, status.Reason = corev1.PodUnknown, "NodeLost" })
	if err := s.Client().Delete(t.Context(), pod); err != nil {
		t.Fatalf("delete the pod: %v", err)
	}
	s.until(t, "press", "told that the pod is to be deleted", func(i *lsv1alpha1.DeployItem) bool {
		return slices.ContainsFunc(i.Status.Conditions, func(c lsv1alpha1.Condition) bool { return c.Reason == container.WaitingForTermination })
	})
	s.tell(t, pod, func(status *corev1.PodStatus) {
		status.Phase, status.Conditions = corev1.PodFailed, []corev1.PodCondition{{
			Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: "DeletionByPodGC", Message: "PodGC: node no longer exists",
		}}
	})
	s.erase(t, pod)
	s.ends(t, "cider", lsv1alpha1.PhaseFailed)
	s.noPods(t)
	s.haveRun(t, "RECONCILE small", "RECONCILE small", "RECONCILE small", "RECONCILE small")
	s.rest(t, "node lost")
}

// podAtWork waits until the image of a pod runs, and the deploy item shows that.
func (s *scene) podAtWork(t *testing.T) *corev1.Pod {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testkit.Patience)
	defer cancel()
	pods, err := s.Client().Watch(ctx, &corev1.PodList{}, client.InNamespace(s.namespace))
	if err != nil {
		t.Fatalf("watch pods: %v", err)
	}
	defer pods.Stop()
	for event := range pods.ResultChan() {
		pod, ok := event.Object.(*corev1.Pod)
		if !ok || pod.Status.Phase != corev1.PodRunning || pod.DeletionTimestamp != nil {
			continue
		}
		s.until(t, "press", "told that the image runs", func(i *lsv1alpha1.DeployItem) bool {
			return i.Status.ProviderStatus != nil && invariant.ImageRuns(i.Status.ProviderStatus.Raw, pod.Annotations[inside.AnnotationRun])
		})
		return pod
	}
	t.Fatal("no pod runs")
	return nil
}

// tell changes the status of a pod, as a kubelet does.
func (s *scene) tell(t testing.TB, pod *corev1.Pod, change func(*corev1.PodStatus)) {
	t.Helper()
	if err := (kubelet.Kubelet{Client: s.Client()}).Tell(t.Context(), pod, change); err != nil {
		t.Fatalf("change the status of the pod: %v", err)
	}
}

// erase deletes a pod without its node.
func (s *scene) erase(t testing.TB, pod *corev1.Pod) {
	t.Helper()
	err := s.Client().Delete(t.Context(), pod, client.GracePeriodSeconds(0), client.Preconditions{UID: &pod.UID})
	if client.IgnoreNotFound(err) != nil {
		t.Fatalf("delete the pod: %v", err)
	}
}

// noPods waits until there are no pods.
func (s *scene) noPods(t testing.TB) {
	t.Helper()
	var pods corev1.PodList
	if err := s.Client().List(t.Context(), &pods, client.InNamespace(s.namespace)); err != nil {
		t.Fatalf("list pods: %v", err)
	}
	for i := range pods.Items {
		testkit.EventuallyGone(t, s.APIServer, &pods.Items[i])
	}
}

// nothingLeft checks that nothing of the container deployer exists.
func (s *scene) nothingLeft(t testing.TB) {
	t.Helper()
	for _, list := range []client.ObjectList{
		&corev1.PodList{}, &corev1.SecretList{}, &corev1.ServiceAccountList{}, &rbacv1.RoleList{}, &rbacv1.RoleBindingList{},
	} {
		if err := s.Client().List(t.Context(), list, client.InNamespace(s.namespace), invariant.OfContainers); err != nil {
			t.Fatalf("list what is left: %v", err)
		}
		if text := string(mustJSON(list)); !strings.Contains(text, `"items":[]`) && !strings.Contains(text, `"items":null`) {
			t.Errorf("this is left: %s", text)
		}
	}
}
