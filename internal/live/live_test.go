// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package live_test

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/dial"
	"espalier.dev/internal/live"
	"espalier.dev/internal/masking"
	"espalier.dev/internal/objecttree"
	"espalier.dev/internal/target"
	"espalier.dev/internal/testkit"
)

func TestMain(m *testing.M) { testkit.MainWithOthers(m) }

// stage is a cluster that holds a Target which points to the cluster itself.
type stage struct {
	server    *testkit.APIServer
	namespace string
	reader    live.Reader
	item      *lsv1alpha1.DeployItem
}

func newStage(t *testing.T, kubeconfig string) *stage {
	t.Helper()
	s := &stage{server: testkit.Server(t)}
	s.namespace = s.server.Namespace(t)
	if kubeconfig == "" {
		raw, err := os.ReadFile(s.server.Kubeconfig())
		if err != nil {
			t.Fatal(err)
		}
		kubeconfig = string(raw)
	}
	testkit.Create(t, s.server, testkit.Target(s.namespace, "cluster").Kubeconfig(kubeconfig).Build())
	clusters := target.NewClusters(target.Options{
		Host: s.server.Client(), HostConfig: s.server.Config(), Dialer: dial.Rules{AllowLoopback: true},
	})
	t.Cleanup(clusters.Close)
	s.reader = live.Reader{Host: s.server.Client(), Clusters: clusters}
	s.item = &lsv1alpha1.DeployItem{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "item"}}
	s.item.Spec.Target = &lsv1alpha1.ObjectReference{Name: "cluster", Namespace: s.namespace}
	return s
}

// own creates an object with an owner.
func (s *stage) own(t *testing.T, owner, object client.Object) {
	t.Helper()
	if err := controllerutil.SetControllerReference(owner, object, s.server.Client().Scheme()); err != nil {
		t.Fatal(err)
	}
	testkit.Create(t, s.server, object)
}

var podTemplate = corev1.PodTemplateSpec{
	ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}},
	Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "example.org/i:1"}}},
}

// deployment creates a Deployment in the middle of a rollout: an old ReplicaSet without pods, a new one with a waiting pod, and a
// foreign pod with the same labels.
func (s *stage) deployment(t *testing.T) {
	t.Helper()
	selector := &metav1.LabelSelector{MatchLabels: podTemplate.Labels}
	meta := func(name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: s.namespace, Name: name, Labels: podTemplate.Labels}
	}
	web := &appsv1.Deployment{ObjectMeta: meta("web"), Spec: appsv1.DeploymentSpec{Selector: selector, Template: podTemplate}}
	testkit.Create(t, s.server, web)
	set := func(name string, replicas int32) *appsv1.ReplicaSet {
		set := &appsv1.ReplicaSet{
			ObjectMeta: meta(name),
			Spec:       appsv1.ReplicaSetSpec{Replicas: ptr.To(replicas), Selector: selector, Template: podTemplate},
		}
		s.own(t, web, set)
		return set
	}
	set("web-old", 0)
	pod := &corev1.Pod{ObjectMeta: meta("web-new-1"), Spec: podTemplate.Spec}
	s.own(t, set("web-new", 1), pod)
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{
		Name: "c", RestartCount: 3,
		State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff", Message: "back-off 40s"}},
		LastTerminationState: corev1.ContainerState{
			Terminated: &corev1.ContainerStateTerminated{Reason: "OOMKilled", ExitCode: 137},
		},
	}}
	if err := s.server.Client().Status().Update(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	testkit.Create(t, s.server, &corev1.Pod{ObjectMeta: meta("stranger"), Spec: podTemplate.Spec})
}

func TestWhatIsInACluster(t *testing.T) {
	s := newStage(t, "")
	s.deployment(t)
	testkit.Create(t, s.server, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "settings"}})
	named := func(apiVersion, kind, name string, state objecttree.LiveState, below ...objecttree.DeployedObject) objecttree.DeployedObject {
		return objecttree.DeployedObject{APIVersion: apiVersion, Kind: kind, Namespace: s.namespace, Name: name, State: state, Below: below}
	}
	want := []objecttree.DeployedObject{
		named("v1", "ConfigMap", "settings", objecttree.Ready),
		named("v1", "Secret", "lost", objecttree.Gone),
		named("example.org/v1", "Unknown", "x", objecttree.NotReadable),
		named("apps/v1", "Deployment", "web", objecttree.NotReady,
			named("apps/v1", "ReplicaSet", "web-new", objecttree.NotReady, named("v1", "Pod", "web-new-1", objecttree.NotReady))),
	}
	var recorded []objecttree.DeployedObject
	for _, object := range want {
		object.State, object.Below = "", nil
		recorded = append(recorded, object)
	}
	got, err := s.reader.Of(t.Context(), s.item, recorded)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(objecttree.DeployedObject{}, "Message")); diff != "" {
		t.Error(diff)
	}
	const crash = "container c: CrashLoopBackOff: back-off 40s; OOMKilled, exit code 137; 3 restarts"
	if pod := got[3].Below[0].Below[0]; pod.Message != crash {
		t.Errorf("of a pod that crashes: %q", pod.Message)
	}
	for _, object := range got {
		if (object.Message == "") != (object.State == objecttree.Ready) {
			t.Errorf("%s is %s, saying %q", object.Name, object.State, object.Message)
		}
	}
}

// Nodes quote the commands of containers, and whoever knows what is secret says what is masked.
func TestMessagesShowNoSecret(t *testing.T) {
	s := newStage(t, "")
	s.deployment(t)
	asked := 0
	s.reader.Secrets = func(_ context.Context, item *lsv1alpha1.DeployItem) *masking.Values {
		asked++
		secrets := &masking.Values{}
		if item.Name == s.item.Name {
			secrets.AddText("back-off 40s")
		}
		return secrets
	}
	web := objecttree.DeployedObject{APIVersion: "apps/v1", Kind: "Deployment", Namespace: s.namespace, Name: "web"}
	got, err := s.reader.Of(t.Context(), s.item, []objecttree.DeployedObject{web})
	if err != nil {
		t.Fatal(err)
	}
	const crash = "container c: CrashLoopBackOff: <masked>; OOMKilled, exit code 137; 3 restarts"
	if pod := got[0].Below[0].Below[0]; pod.Message != crash || asked != 1 {
		t.Errorf("asked %d times: %q", asked, pod.Message)
	}
	settings := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "settings"}}
	testkit.Create(t, s.server, settings)
	quiet := objecttree.DeployedObject{APIVersion: "v1", Kind: "ConfigMap", Namespace: s.namespace, Name: "settings"}
	if _, err := s.reader.Of(t.Context(), s.item, []objecttree.DeployedObject{quiet}); err != nil || asked != 1 {
		t.Errorf("asked %d times although nothing is said: %v", asked, err)
	}
}

// The obstacle is reported, without anything from the kubeconfig.
func TestClustersThatCannotBeLookedAt(t *testing.T) {
	const hostile = "apiVersion: v1\nkind: Config\nusers: [{name: u, user: {token: pssst, exec: {command: sh}}}]\n"
	noTarget := func(s *stage) { s.item.Spec.Target = nil }
	lostTarget := func(s *stage) { s.item.Spec.Target.Name = "lost" }
	secretTarget := func(s *stage) { s.item.Spec.Target.Name = "+pssst" }
	for name, test := range map[string]struct {
		kubeconfig string
		change     func(*stage)
		want       string
	}{
		"no target":            {"", noTarget, "names no target"},
		"a target that is not": {"", lostTarget, "read Target"},
		"a secret as name":     {"", secretTarget, "has an invalid target"},
		"a hostile kubeconfig": {hostile, func(*stage) {}, "target "},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, test.kubeconfig)
			test.change(s)
			recorded := []objecttree.DeployedObject{{APIVersion: "v1", Kind: "ConfigMap", Namespace: s.namespace, Name: "a"}}
			got, err := s.reader.Of(t.Context(), s.item, recorded)
			if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "pssst") {
				t.Errorf("the error is %v", err)
			}
			if diff := cmp.Diff(recorded, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
