// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

//go:build node

package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	landscaper "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/cmd/espalier/internal/node"
	"espalier.dev/cmd/espalier/internal/nodetest"
	"espalier.dev/config/crd"
	"espalier.dev/internal/manager"
	"espalier.dev/internal/release/image"
	"espalier.dev/internal/release/manifest"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/helmrelease"
)

const (
	system     = "espalier-system"
	controller = "espalier-controller"
	// podLimit bounds everything that pods do, on a machine that is busy with many other things.
	podLimit = 10 * time.Minute

	// older and newer are the versions that are installed, in this order.
	older, newer = "v0.0.1", "v0.0.2"
	// upgradeFrom names the environment variable that may point at a checkout of the last release, to upgrade from it. Without it, the older
	// version is this checkout with another version number.
	upgradeFrom = "ESPALIER_UPGRADE_FROM"
)

// tenant is a namespace of users with a Target for the namespace itself, whose service account has only the rights that it needs. The
// system enforces the restricted standard for pods.
const tenant = `
apiVersion: v1
kind: Namespace
metadata: {name: espalier-system, labels: {pod-security.kubernetes.io/enforce: restricted}}
---
apiVersion: v1
kind: Namespace
metadata: {name: shop}
---
apiVersion: v1
kind: ServiceAccount
metadata: {namespace: shop, name: deployer}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {namespace: shop, name: deployer}
rules: [{apiGroups: [""], resources: [configmaps], verbs: ["*"]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {namespace: shop, name: deployer}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: deployer}
subjects: [{kind: ServiceAccount, namespace: shop, name: deployer}]
`

// installed is a cluster with a node, in which the controllers run in pods of the images of a release.
type installed struct {
	user
	*testkit.APIServer
	release helmrelease.Release
}

// The chart installs on a real node; replicas take over from each other, upgrades lose nothing, and users' objects stay when the
// controllers are removed. The manifests do the same.
func TestEspalierInACluster(t *testing.T) {
	before := nodetest.Traces(t)
	cluster := nodetest.Start(t)
	last := cmp.Or(os.Getenv(upgradeFrom), "../..")
	importController(t, cluster.Node, last, older)
	importController(t, cluster.Node, "../..", newer)
	i := &installed{user: newUser(t), APIServer: testkit.Connect(t, cluster.KubeconfigPath())}
	i.release = helmrelease.Release{Kubeconfig: i.Kubeconfig(), Namespace: system, Name: "espalier", Wait: podLimit}

	i.installChart(t, chartOf(t, last, older))
	i.checkPods(t)
	i.createInstallations(t, "apples", "pears", "plums")
	jobs := startLoad(t, i.APIServer, "apples", "pears", "plums")
	jobs.another(t)
	i.failOver(t)
	jobs.another(t)
	i.upgrade(t, chartOf(t, "../..", newer))
	jobs.another(t)
	jobs.checkNothingLost(t)
	i.uninstall(t, jobs.recorder)
	i.installManifests(t)

	if err := cluster.Stop(context.Background()); err != nil {
		t.Fatal(err)
	}
	nodetest.NothingLeft(t, before)
}

// importController builds the image of the controllers from a checkout, as for a release, and imports it into the node.
func importController(t *testing.T, n *node.Node, checkout, version string) {
	t.Helper()
	built := time.Now()
	program := nodetest.Program(t, checkout, "./cmd/"+controller, "-X espalier.dev/internal/version.version="+version)
	layout, err := image.New(image.Image{
		Repository: manifest.Registry + "/" + controller, Tag: version, Program: controller, Created: built,
		Builds: map[string][]byte{runtime.GOARCH: program},
	})
	if err != nil {
		t.Fatal(err)
	}
	archive, err := layout.Archive(built)
	if err != nil {
		t.Fatal(err)
	}
	if err := n.ImportImage(t.Context(), bytes.NewReader(archive)); err != nil {
		t.Fatal(err)
	}
}

func chartOf(t *testing.T, checkout, version string) []byte {
	t.Helper()
	versions := manifest.Versions{Chart: strings.TrimPrefix(version, "v"), App: version}
	packed, err := manifest.Chart(filepath.Join(checkout, "charts", "espalier"), versions, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return packed
}

// espalier runs a command of espalier, or of kubectl, in this cluster.
func (i *installed) espalier(t *testing.T, args ...string) string {
	t.Helper()
	return i.mustRun(t, append(args, "--kubeconfig", i.Kubeconfig())...)
}

// apply is "kubectl apply --server-side" of manifests.
func (i *installed) apply(t *testing.T, manifests ...string) {
	t.Helper()
	args := []string{"kubectl", "apply", "--server-side"}
	for number, text := range manifests {
		args = append(args, "-f", i.file(t, fmt.Sprintf("%d.yaml", number), text))
	}
	i.espalier(t, args...)
}

func (i *installed) file(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func (i *installed) installChart(t *testing.T, chart []byte) {
	t.Helper()
	i.apply(t, tenant)
	i.espalier(t, "check", "--pre")
	if err := i.release.Install(t.Context(), chart, "controller: {replicas: 2, tokenNamespaces: [shop]}"); err != nil {
		t.Fatalf("helm install: %v\n%s", err, i.pods(t))
	}
	i.checkReplicas(t, older)
	i.checkAll(t)
	i.apply(t, `{apiVersion: landscaper.gardener.cloud/v1alpha1, kind: Target, metadata: {namespace: shop, name: here},
spec: {type: landscaper.gardener.cloud/kubernetes-cluster, config: {selfConfig: {serviceAccount: {name: deployer}}}}}`)
}

// pods describes the pods, for messages.
func (i *installed) pods(t *testing.T) string {
	t.Helper()
	return i.espalier(t, "kubectl", "describe", "pods", "-n", system)
}

// checkReplicas requires two ready pods of a version, and CRDs of the same version.
func (i *installed) checkReplicas(t *testing.T, version string) {
	t.Helper()
	ready := 0
	for _, pod := range i.controllers(t) {
		isReady := slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
		})
		if isReady && pod.Spec.Containers[0].Image == manifest.Registry+"/"+controller+":"+version {
			ready++
		}
	}
	if ready != 2 {
		t.Fatalf("%d pods of %s are ready:\n%s", ready, version, i.pods(t))
	}
	definitions, err := crd.All()
	if err != nil {
		t.Fatal(err)
	}
	for _, definition := range definitions {
		found := &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{
			APIVersion: "apiextensions.k8s.io/v1", Kind: "CustomResourceDefinition",
		}}
		if err := i.Client().Get(t.Context(), client.ObjectKeyFromObject(definition), found); err != nil {
			t.Fatal(err)
		}
		if got := found.Annotations["espalier.dev/version"]; got != version {
			t.Errorf("the definition %s is of version %q", found.Name, got)
		}
	}
}

// checkAll runs "espalier check" as soon as there is a leader.
func (i *installed) checkAll(t *testing.T) {
	t.Helper()
	i.leaderOtherThan(t, "")
	i.espalier(t, "check", "-A")
}

// controllers returns the pods of the controllers.
func (i *installed) controllers(t *testing.T) []corev1.Pod {
	t.Helper()
	var pods corev1.PodList
	labels := client.MatchingLabels{"app.kubernetes.io/name": controller}
	if err := i.Client().List(t.Context(), &pods, client.InNamespace(system), labels); err != nil {
		t.Fatal(err)
	}
	return pods.Items
}

// checkPods asks the kernel what the processes in the pods may do.
func (i *installed) checkPods(t *testing.T) {
	t.Helper()
	for _, pod := range i.controllers(t) {
		process := i.process(t, pod.Name)
		status := process.Status(t)
		for field, want := range map[string]string{
			"Uid": "65532 65532 65532 65532", "Gid": "65532 65532 65532 65532", "Groups": "65532",
			"CapInh": "0000000000000000", "CapPrm": "0000000000000000", "CapEff": "0000000000000000", "CapBnd": "0000000000000000",
			"CapAmb": "0000000000000000", "NoNewPrivs": "1", "Seccomp": "2",
		} {
			if status[field] != want {
				t.Errorf("%s of %s is %q", field, pod.Name, status[field])
			}
		}
		if writable := process.Writable(t); writable["/"] || !writable["/tmp"] {
			t.Errorf("%s can write to %v", pod.Name, writable)
		}
	}
}

// process finds the process of a pod, which may have been started again a moment ago.
func (i *installed) process(t *testing.T, name string) nodetest.Process {
	t.Helper()
	var found nodetest.Process
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: system, Name: name}}
	testkit.Eventually(t, i.APIServer, pod, func(pod *corev1.Pod) error {
		if len(pod.Status.ContainerStatuses) > 0 {
			found = nodetest.ProcessOf(t, pod.Status.ContainerStatuses[0].ContainerID)
		}
		if found == 0 {
			return fmt.Errorf("its container does not run: %+v", pod.Status)
		}
		return nil
	}, testkit.Within(podLimit))
	return found
}

func (i *installed) createInstallations(t *testing.T, names ...string) {
	t.Helper()
	for _, name := range names {
		blueprint := strings.ReplaceAll(counting, "NAME", name)
		testkit.Create(t, i.APIServer, testkit.Installation("shop", name).Blueprint(blueprint).ImportTarget("cluster", "here").Build())
	}
}

// leaderOtherThan waits until the lease has a holder other than former, and returns its identity and its pod.
func (i *installed) leaderOtherThan(t *testing.T, former string) (identity, pod string) {
	t.Helper()
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: system, Name: manager.LeaseName}}
	lease = testkit.Eventually(t, i.APIServer, lease, func(lease *coordinationv1.Lease) error {
		if holder := lease.Spec.HolderIdentity; holder == nil || *holder == "" || *holder == former {
			return fmt.Errorf("nobody but %q holds it", former)
		}
		return nil
	}, testkit.Within(podLimit))
	identity = *lease.Spec.HolderIdentity
	pod, _, _ = strings.Cut(identity, "_")
	return identity, pod
}

// failOver kills the process that leads. The other replica continues, although the killed one restarts at once.
func (i *installed) failOver(t *testing.T) {
	t.Helper()
	leases := testkit.Record(t, i.APIServer, system, testkit.Kinds(&coordinationv1.Lease{}))
	leader, victim := i.leaderOtherThan(t, "")
	for pod := victim; pod == victim; { // The victim itself may come first, though this is unlikely.
		if err := syscall.Kill(int(i.process(t, victim)), syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		leader, pod = i.leaderOtherThan(t, leader)
	}
	t.Logf("%s works instead of %s, after %s", leader, victim, silence(leases.History()))
	killed := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: system, Name: victim}}
	testkit.Eventually(t, i.APIServer, killed, func(pod *corev1.Pod) error {
		if state := pod.Status.ContainerStatuses[0]; state.RestartCount == 0 || !state.Ready {
			return fmt.Errorf("it is not back: %+v", state)
		}
		return nil
	}, testkit.Within(podLimit))
}

// silence returns the longest time between two renewals of the lease.
func silence(leases testkit.History) time.Duration {
	var longest time.Duration
	var before time.Time
	for _, revision := range leases {
		if revision.Object.GetName() != manager.LeaseName {
			continue
		}
		renewed, err := time.Parse(metav1.RFC3339Micro, revision.Field("spec.renewTime"))
		if err != nil {
			continue
		}
		if !before.IsZero() {
			longest = max(longest, renewed.Sub(before))
		}
		before = renewed
	}
	return longest
}

// upgrade replaces all pods. A process that stops regularly hands over the lease, so nobody waits for it to expire.
func (i *installed) upgrade(t *testing.T, chart []byte) {
	t.Helper()
	leases := testkit.Record(t, i.APIServer, system, testkit.Kinds(&coordinationv1.Lease{}))
	old := i.controllers(t)
	if err := i.release.Upgrade(t.Context(), chart, ""); err != nil {
		t.Fatalf("helm upgrade: %v\n%s", err, i.pods(t))
	}
	for _, pod := range old {
		testkit.EventuallyGone(t, i.APIServer, &pod, testkit.Within(podLimit))
	}
	i.checkReplicas(t, newer)
	i.checkAll(t)
	history := leases.History()
	handedOver := history.Where(func(r testkit.Revision) bool {
		return r.Object.GetName() == manager.LeaseName && r.Field("spec.holderIdentity") == ""
	})
	if len(handedOver) == 0 {
		t.Errorf("no process has given up the lease at its end:\n%s", history)
	}
	t.Logf("while the pods were replaced, nobody worked for %s at most", silence(history))
}

// uninstall removes only the controllers.
func (i *installed) uninstall(t *testing.T, recorder *testkit.Recorder) {
	t.Helper()
	before := recorder.History()
	if err := i.release.Uninstall(); err != nil {
		t.Fatalf("helm uninstall: %v", err)
	}
	i.checkGone(t)
	if changes := recorder.Since(before); len(changes) > 0 {
		t.Errorf("objects of users have changed:\n%s", changes)
	}
	i.checkUsers(t, "apples", "pears", "plums")
}

// checkGone waits until no controller is left.
func (i *installed) checkGone(t *testing.T) {
	t.Helper()
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: system, Name: controller}}
	testkit.EventuallyGone(t, i.APIServer, deployment, testkit.Within(podLimit))
	err := wait.PollUntilContextTimeout(t.Context(), pace, podLimit, true, func(context.Context) (bool, error) {
		return len(i.controllers(t)) == 0, nil
	})
	if err != nil {
		t.Fatalf("pods are left:\n%s", i.pods(t))
	}
}

// checkUsers requires exactly the named installations, with what they have deployed.
func (i *installed) checkUsers(t *testing.T, names ...string) {
	t.Helper()
	var list landscaper.InstallationList
	if err := i.Client().List(t.Context(), &list, client.InNamespace("shop")); err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, installation := range list.Items {
		found = append(found, installation.Name)
		if installation.Status.Phase != landscaper.PhaseSucceeded || installation.DeletionTimestamp != nil {
			t.Errorf("the installation %s is %s", installation.Name, installation.Status.Phase)
		}
		deployed := &corev1.ConfigMap{}
		if err := i.Client().Get(t.Context(), client.ObjectKeyFromObject(&installation), deployed); err != nil {
			t.Errorf("what %s has deployed: %v", installation.Name, err)
		}
	}
	if !slices.Equal(found, names) {
		t.Errorf("the installations are %q", found)
	}
}

// installManifests installs the controllers again, from the manifests, and they continue: they also finish what was deleted meanwhile.
func (i *installed) installManifests(t *testing.T) {
	t.Helper()
	files, err := manifest.Kustomizations(os.DirFS("../../config"), newer)
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for _, folder := range []string{manifest.Definitions, manifest.Default} {
		text, err := manifest.Build(files, folder)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(text))
	}
	i.espalier(t, "kubectl", "delete", "installation/apples", "-n", "shop", "--wait=false")
	i.apply(t, texts...)
	i.espalier(t, "kubectl", "create", "rolebinding", "espalier-tokens", "-n", "shop", "--clusterrole=espalier-tokens",
		"--serviceaccount="+system+":"+controller)
	i.espalier(t, "kubectl", "rollout", "status", "deployment/"+controller, "-n", system, "--timeout="+podLimit.String())
	meta := metav1.ObjectMeta{Namespace: "shop", Name: "apples"}
	testkit.EventuallyGone(t, i.APIServer, &landscaper.Installation{ObjectMeta: meta}, testkit.Within(podLimit))
	testkit.EventuallyGone(t, i.APIServer, &corev1.ConfigMap{ObjectMeta: meta}, testkit.Within(podLimit))
	i.espalier(t, "reconcile", "pears", "-n", "shop", "--wait", "--timeout", jobLimit.String())

	i.espalier(t, "kubectl", "delete", "-f", i.file(t, "install.yaml", texts[1]), "--timeout="+podLimit.String())
	i.checkGone(t)
	i.checkUsers(t, "pears", "plums")
}
