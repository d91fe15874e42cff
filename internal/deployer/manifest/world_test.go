// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package manifest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"espalier.dev/api/deployer/manifest/v1alpha2"
	landscaper "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/deployer"
	"espalier.dev/internal/deployer/manifest"
	"espalier.dev/internal/dial"
	"espalier.dev/internal/target"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/faults"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// world is one deploy item and its target cluster. It plays the library around a deployer: it starts jobs, stores the
// provider status, and calls again when woken.
type world struct {
	*testkit.World
	transport *faults.Transport
	clusters  *target.Clusters
	deployer  *manifest.Deployer
	targets   map[string]*landscaper.Target
	item      *landscaper.DeployItem
	wake      chan struct{}
}

const ownTarget = "cluster"

func newWorld(t *testing.T) *world {
	t.Helper()
	return newWorldOn(t, testkit.Server(t), "")
}

func newWorldOn(t *testing.T, server *testkit.APIServer, plan string) *world {
	t.Helper()
	w := &world{
		World: testkit.WorldOn(t, server), transport: faults.New(faults.MustParse(plan)),
		deployer: manifest.New(), targets: map[string]*landscaper.Target{}, wake: make(chan struct{}, 1),
	}
	w.connect()
	w.targets[ownTarget] = testkit.Target(w.Namespace, ownTarget).Cluster(t, server).Build()
	w.item = testkit.DeployItem(w.Namespace, "item").Target(ownTarget).Build()
	w.item.UID, w.item.Spec.Type = types.UID(uuid.NewString()), landscaper.DeployItemTypeManifest
	return w
}

func (w *world) connect() {
	wrap := w.transport.Config(&rest.Config{}).WrapTransport
	w.clusters = target.NewClusters(target.Options{Dialer: dial.Rules{AllowLoopback: true}, WrapTransport: wrap})
	w.Cleanup(w.clusters.Close)
}

// restart forgets everything that is not stored, like a new process.
func (w *world) restart() { w.deployer = manifest.New() }

func (w *world) work() deployer.Work {
	w.Helper()
	find := func(ctx context.Context, name string) (*target.Cluster, error) {
		found := w.targets[name]
		if found == nil {
			return nil, fmt.Errorf("there is no target %s", name)
		}
		return w.clusters.For(ctx, found)
	}
	own, err := find(w.Context(), ownTarget)
	if err != nil {
		w.Fatal(err)
	}
	return deployer.Work{
		Item: w.item.DeepCopy(), Cluster: own, Target: w.targets[ownTarget], ClusterFor: find, Now: time.Now(),
		Wake: func() {
			select {
			case w.wake <- struct{}{}:
			default:
			}
		},
	}
}

// configure sets the item's configuration, written as the part of a v1alpha2 ProviderConfiguration after its kind. NAMESPACE
// is replaced with the world's namespace.
func (w *world) configure(text string) {
	w.Helper()
	w.configureRaw("apiVersion: manifest.deployer.landscaper.gardener.cloud/v1alpha2\nkind: ProviderConfiguration\n" + text)
}

func (w *world) configureRaw(text string) {
	w.Helper()
	raw, err := yaml.YAMLToJSON([]byte(strings.ReplaceAll(text, "NAMESPACE", w.Namespace)))
	if err != nil {
		w.Fatal(err)
	}
	w.item.Spec.Configuration = &runtime.RawExtension{Raw: raw}
	w.item.Generation++
}

// start starts a new job and stores what the deployer intends to do.
func (w *world) start() error {
	w.Helper()
	w.item.Status.JobID = uuid.NewString()
	intended, err := w.deployer.Intend(w.Context(), w.work())
	if err == nil && intended != nil {
		w.store(intended)
	}
	return err
}

func (w *world) store(status runtime.Object) {
	w.Helper()
	raw, err := json.Marshal(status)
	if err != nil {
		w.Fatal(err)
	}
	w.item.Status.ProviderStatus = &runtime.RawExtension{Raw: raw}
}

// remember sets the stored status to that of an earlier controller.
func (w *world) remember(text string) {
	w.item.Status.ProviderStatus = &runtime.RawExtension{Raw: []byte(text)}
}

// pass calls the deployer once and stores the provider status that it returns.
func (w *world) pass() (deployer.Progress, error) {
	w.Helper()
	call := w.deployer.Deploy
	if w.item.DeletionTimestamp != nil {
		call = w.deployer.Delete
	}
	progress, err := call(w.Context(), w.work())
	if progress.ProviderStatus != nil {
		w.store(progress.ProviderStatus)
	}
	return progress, err
}

// deploy runs a job with a configuration until it waits for something that does not come, fails, or is done.
func (w *world) deploy(text string) (deployer.Progress, error) {
	w.Helper()
	w.configure(text)
	return w.run()
}

func (w *world) run() (deployer.Progress, error) {
	w.Helper()
	if err := w.start(); err != nil {
		return deployer.Progress{}, err
	}
	return w.goOn()
}

// goOn calls the deployer, again whenever it is woken, until it is done or fails.
func (w *world) goOn() (deployer.Progress, error) {
	w.Helper()
	return w.goOnAfter(func() {})
}

// goOnAfter runs a function once the item waits. Only an event can wake the item.
func (w *world) goOnAfter(something func()) (deployer.Progress, error) {
	w.Helper()
	happen := sync.OnceFunc(something)
	limit, cancel := context.WithTimeout(w.Context(), testkit.Patience)
	defer cancel()
	for {
		progress, err := w.pass()
		if err != nil || progress.Done {
			return progress, err
		}
		happen()
		w.await(limit, progress)
	}
}

// endsAfter is goOnAfter for items that must finish successfully.
func (w *world) endsAfter(something func()) deployer.Progress {
	w.Helper()
	progress, err := w.goOnAfter(something)
	if err != nil {
		w.Fatal(err)
	}
	return progress
}

// await waits for an event, or for a recheck that is due in moments. Waiting for the default recheck would hide a missing
// event.
func (w *world) await(limit context.Context, progress deployer.Progress) {
	w.Helper()
	var recheck <-chan time.Time
	if progress.Recheck < time.Second {
		recheck = time.After(progress.Recheck)
	}
	select {
	case <-w.wake:
	case <-recheck:
	case <-limit.Done():
		w.Fatalf("nobody woke the item, which waits: %+v", progress.Waiting)
	}
}

// succeed is deploy for jobs that must finish successfully.
func (w *world) succeed(text string) deployer.Progress {
	w.Helper()
	progress, err := w.deploy(text)
	if err != nil {
		w.Fatal(err)
	}
	return progress
}

// delete runs the deletion of the item to its end.
func (w *world) delete() {
	w.Helper()
	w.beginDelete()
	if _, err := w.goOn(); err != nil {
		w.Fatal(err)
	}
}

func (w *world) beginDelete() {
	now := metav1.Now()
	w.item.DeletionTimestamp, w.item.Status.JobID = &now, uuid.NewString()
}

// managed names the objects in the inventory as kind/name.
func (w *world) managed() []string {
	w.Helper()
	names := []string{}
	if w.item.Status.ProviderStatus == nil {
		return names
	}
	var status v1alpha2.ProviderStatus
	if err := json.Unmarshal(w.item.Status.ProviderStatus.Raw, &status); err != nil {
		w.Fatal(err)
	}
	for _, entry := range status.ManagedResources {
		names = append(names, entry.Resource.Kind+"/"+entry.Resource.Name)
	}
	return names
}

// requests returns the requests sent to the cluster since the last call, without discovery and watches.
func (w *world) requests(seen *int) []string {
	var result []string
	log := w.transport.Log()
	for _, entry := range log[*seen:] {
		if entry.Resource != "" && entry.Verb != "watch" && entry.Verb != "list" {
			result = append(result, entry.Verb+" "+entry.Resource)
		}
	}
	*seen = len(log)
	return result
}

// configMap reads a ConfigMap of the world's namespace; nil if there is none.
func (w *world) configMap(name string) *corev1.ConfigMap {
	w.Helper()
	object := &corev1.ConfigMap{}
	if !w.read(name, object) {
		return nil
	}
	return object
}

func (w *world) read(name string, into client.Object) bool {
	w.Helper()
	into.SetNamespace(w.Namespace)
	into.SetName(name)
	return w.Read(into)
}

// create stores foreign objects, written in YAML.
func (w *world) create(text string) *unstructured.Unstructured {
	w.Helper()
	object := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(strings.ReplaceAll(text, "NAMESPACE", w.Namespace)), &object.Object); err != nil {
		w.Fatal(err)
	}
	w.Create(object)
	return object
}

// change updates an object as somebody else would.
func (w *world) change(object client.Object, how func()) {
	w.Helper()
	how()
	if err := w.Client().Update(w.Context(), object); err != nil {
		w.Fatal(err)
	}
}

func replace(text, word, by string) string { return strings.ReplaceAll(text, word, by) }

// testkitServerWithControllers is a server on which namespaces can be deleted.
func testkitServerWithControllers(t *testing.T) *testkit.APIServer {
	t.Helper()
	return testkit.NewServer(t, testkit.ClusterControllers())
}
