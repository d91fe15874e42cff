// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	pipelines "espalier.dev/api/pipelines/v1alpha1"
	"espalier.dev/internal/testkit"
)

// deployed is a deploy execution with one deploy item that creates a ConfigMap in another namespace.
func deployed(target, namespace, name string) string {
	return fmt.Sprintf(`
deployExecutions:
- name: default
  type: GoTemplate
  template: |
    deployItems:
    - name: %s
      type: landscaper.gardener.cloud/kubernetes-manifest
      target: {name: %s}
      config:
        apiVersion: manifest.deployer.landscaper.gardener.cloud/v1alpha2
        kind: ProviderConfiguration
        manifests:
        - manifest: {apiVersion: v1, kind: ConfigMap, metadata: {name: %s, namespace: %s}}
`, name, target, name, namespace)
}

// nestedIn wraps a blueprint into one with it as its only nested installation.
func nestedIn(blueprint string) string {
	return fmt.Sprintf(`
subinstallations:
- apiVersion: landscaper.gardener.cloud/v1alpha1
  kind: InstallationTemplate
  name: inner
  blueprint:
    filesystem:
      blueprint.yaml: |
        apiVersion: landscaper.gardener.cloud/v1alpha1
        kind: Blueprint
%s`, indented(blueprint, 8))
}

// A namespace is deleted while installations in it wait, work, are finished, and cannot be deleted. All of it is deleted, and events name
// what stays elsewhere.
func TestJOB46_CON44_ANamespaceThatIsDeletedGoes(t *testing.T) {
	server := testkit.NewServer(t, testkit.ClusterControllers(), testkit.ProjectCRDs())
	w := worldOn(t, server)
	elsewhere := server.Namespace(t)
	w.run()
	other := strings.Replace(clusterTarget, "name: cluster", "name: lost", 1)
	w.create(clusterTarget, other,
		installationOf("waiting", "imports: {data: [{name: word, dataRef: word}]}", "imports: [{name: word, type: data, schema: {}}]"),
		installationOf("working", "context: default", nestedIn(mockItem("initialPhase: Progressing, phase: Progressing"))),
		installationOf("following", "flow: Continuous", nestedIn(deployed("cluster", elsewhere, "followed"))),
		installationOf("done", "context: default", nestedIn(deployed("cluster", elsewhere, "finished"))),
		installationOf("stuck", "context: default", deployed("lost", elsewhere, "stranded")))
	for _, name := range []string{"waiting", "working", "done", "stuck"} {
		w.request(name)
	}
	w.finished("done", lsv1alpha1.PhaseSucceeded)
	w.finished("stuck", lsv1alpha1.PhaseSucceeded)
	for name, phase := range map[string]lsv1alpha1.Phase{
		"waiting":   lsv1alpha1.PhaseInit,
		"working":   lsv1alpha1.PhaseProgressing,
		"following": lsv1alpha1.PhaseSucceeded,
	} {
		testkit.Eventually(
			t,
			server,
			w.installation(name),
			testkit.Is("in phase "+string(phase), func(i *lsv1alpha1.Installation) bool { return i.Status.Phase == phase }),
		)
	}
	lost := &lsv1alpha1.Target{}
	lost.Namespace, lost.Name = w.Namespace, "lost"
	w.Delete(lost)
	w.Delete(w.installation("stuck"))
	testkit.Eventually(
		t,
		server,
		w.installation("stuck"),
		testkit.Is("being deleted", func(i *lsv1alpha1.Installation) bool { return i.Status.Phase == lsv1alpha1.PhaseDeleting }),
	)

	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.Namespace}}
	w.Delete(namespace)
	testkit.EventuallyGone(t, server, namespace)
	// The deployer of a deploy item that needs no job may have been faster than the end of its Target.
	for _, name := range []string{"finished", "stranded"} {
		if !w.Read(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: elsewhere, Name: name}}) {
			t.Errorf("config map %s is gone, though nothing could be uninstalled", name)
		}
		w.toldOf(name)
	}
}

// packedChart is a deploy execution with one deploy item that installs a chart in another namespace.
func packedChart(t *testing.T, namespace string) string {
	return fmt.Sprintf(`
deployExecutions:
- name: default
  type: GoTemplate
  template: |
    deployItems:
    - name: charted
      type: landscaper.gardener.cloud/helm
      target: {name: cluster}
      config:
        apiVersion: helm.deployer.landscaper.gardener.cloud/v1alpha1
        kind: ProviderConfiguration
        name: charted
        namespace: %s
        chart: {archive: {raw: %s}}
        values: {from: here}
`, namespace, base64.StdEncoding.EncodeToString(wordChart(t, "1.0.0")))
}

// runningImage is a deploy execution with one deploy item whose pod never starts, because there is no node.
const runningImage = `
deployExecutions:
- name: default
  type: GoTemplate
  template: |
    deployItems:
    - name: boxed
      type: landscaper.gardener.cloud/container
      config: {apiVersion: container.deployer.landscaper.gardener.cloud/v1alpha1, kind: ProviderConfiguration, image: i}
`

// A release, a pod that works, Targets from another cluster and a pipeline do not hold up the end of their namespace.
func TestJOB46_ANamespaceGoesWhateverWorksInIt(t *testing.T) {
	server := testkit.NewServer(t, testkit.ClusterControllers(), testkit.ProjectCRDs())
	server.InstallCRD(t, testkit.FluxKinds(t)...)
	w := worldOn(t, server)
	elsewhere := server.Namespace(t)
	w.run()
	sync := &lsv1alpha1.TargetSync{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "sync"},
		Spec: lsv1alpha1.TargetSyncSpec{
			SourceNamespace: elsewhere, SecretRef: lsv1alpha1.LocalSecretReference{Name: "source"}, SecretNameExpression: "^far$",
		},
	}
	credential := map[string]string{"kubeconfig": w.kubeconfig}
	line := testkit.Pipeline(w.Namespace, "line").Environment("dev", w.Namespace).Environment("prod", w.Namespace).Notification().Build()
	w.Create(
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: elsewhere, Name: "far"}, StringData: credential},
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "source"}, StringData: credential}, sync, line,
	)
	w.create(clusterTarget,
		installationOf("charted", "context: default", packedChart(t, elsewhere)),
		installationOf("boxed", "context: default", runningImage))
	w.request("charted")
	w.request("boxed")
	w.finished("charted", lsv1alpha1.PhaseSucceeded)
	w.eventuallyOne(&corev1.PodList{})
	testkit.Eventually(t, server, testkit.Target(w.Namespace, "far").Build(), testkit.Is("there", func(*lsv1alpha1.Target) bool { return true }))
	testkit.Eventually(t, server, line, testkit.Is("observed", func(p *pipelines.Pipeline) bool { return p.Status.ObservedGeneration == p.Generation }))

	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.Namespace}}
	w.Delete(namespace)
	testkit.EventuallyGone(t, server, namespace)
	w.toldOf("charted")
	w.toldOf("boxed")
}

// eventuallyOne waits until the namespace contains an object of a kind.
func (w *world) eventuallyOne(list client.ObjectList) {
	w.Helper()
	watcher, err := w.Client().Watch(w.Context(), list, client.InNamespace(w.Namespace))
	if err != nil {
		w.Fatal(err)
	}
	defer watcher.Stop()
	if _, open := <-watcher.ResultChan(); !open {
		w.Fatalf("the namespace never has an object of %T", list)
	}
}

// toldOf waits for the event that says that what a deploy item has deployed stays after the deletion of its namespace.
func (w *world) toldOf(item string) {
	w.Helper()
	tells := func(event eventsv1.Event) bool {
		return event.Regarding.Kind == "Namespace" && event.Regarding.Name == w.Namespace && event.Reason == "NamespaceTerminating" &&
			strings.Contains(event.Note, "-"+item) && strings.Contains(event.Note, "may stay")
	}
	watcher, err := w.Client().Watch(w.Context(), &eventsv1.EventList{}, client.InNamespace(metav1.NamespaceDefault))
	if err != nil {
		w.Fatal(err)
	}
	defer watcher.Stop()
	var list eventsv1.EventList
	if err := w.Client().List(w.Context(), &list, client.InNamespace(metav1.NamespaceDefault)); err != nil {
		w.Fatal(err)
	}
	if slices.ContainsFunc(list.Items, tells) {
		return
	}
	for event := range watcher.ResultChan() {
		if object, ok := event.Object.(*eventsv1.Event); ok && tells(*object) {
			return
		}
	}
	w.Errorf("nobody was told that what %s has deployed stays", item)
}

// The cluster of a Target is unreachable. Work that deploys ends when the deletion is requested, in both flows; the deletion leaves nothing
// behind silently, and names the way out.
func TestJOB46_CON44_ADeletionWhileTheTargetCannotBeReached(t *testing.T) {
	for _, flow := range []lsv1alpha1.Flow{lsv1alpha1.FlowJob, lsv1alpha1.FlowContinuous} {
		t.Run(string(flow), func(t *testing.T) { deleteUnreached(t, flow) })
	}
}

func deleteUnreached(t *testing.T, flow lsv1alpha1.Flow) {
	w := newWorld(t)
	w.create(
		strings.Replace(clusterTarget, "KUBECONFIG", deadKubeconfig, 1),
		installationOf(
			"app",
			"flow: "+string(flow),
			strings.Replace(deployed("cluster", w.Namespace, "one"), "      target:", "      timeout: none\n      target:", 1),
		),
	)
	if flow == lsv1alpha1.FlowJob {
		w.request("app")
	}
	testkit.Eventually(
		t,
		w.APIServer,
		w.execution("app"),
		testkit.Is("running", func(e *lsv1alpha1.Execution) bool { return e.Status.Phase == lsv1alpha1.PhaseProgressing }),
	)
	away := func(phase lsv1alpha1.Phase) func(*lsv1alpha1.DeployItem) bool {
		return func(i *lsv1alpha1.DeployItem) bool {
			return i.Status.Phase == phase && i.Status.LastError != nil && i.Status.LastError.Reason == "TargetUnreachable"
		}
	}
	item := testkit.Eventually(t, w.APIServer, w.items()["one"], testkit.Is("unable to reach its target", away(lsv1alpha1.PhaseProgressing)))
	recorder := w.record()
	w.Delete(w.installation("app"))
	item = testkit.Eventually(t, w.APIServer, w.deployItem(item.Name), testkit.Is("unable to uninstall", away(lsv1alpha1.PhaseDeleting)))
	for _, part := range []string{"Target " + w.Namespace + "/cluster", "connection refused", "espalier delete app --without-uninstall"} {
		if message := item.Status.LastError.Message; !strings.Contains(message, part) {
			t.Errorf("%q does not say %q", message, part)
		}
	}
	if !slices.ContainsFunc(recorder.Of(item), func(r testkit.Revision) bool {
		return r.Field("status.phase") == string(lsv1alpha1.PhaseFailed) && r.Field("status.lastError.reason") == lsv1alpha1.ReasonInterrupted
	}) {
		t.Errorf("the work did not end because of the deletion:\n%s", recorder.Of(item))
	}
	w.Annotate(w.installation("app"), lsv1alpha1.DeleteWithoutUninstallAnnotation, "true")
	testkit.EventuallyGone(t, w.APIServer, w.installation("app"))
}
