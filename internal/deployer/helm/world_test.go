// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package helm_test

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	ri "helm.sh/helm/v4/pkg/release"
	release "helm.sh/helm/v4/pkg/release/v1"
	"helm.sh/helm/v4/pkg/storage"
	"helm.sh/helm/v4/pkg/storage/driver"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	helmv1alpha1 "espalier.dev/api/deployer/helm/v1alpha1"
	landscaper "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/deployer"
	"espalier.dev/internal/deployer/helm"
	"espalier.dev/internal/deployer/helm/charts"
	"espalier.dev/internal/dial"
	"espalier.dev/internal/target"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/faults"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// world is one deploy item and its target cluster. It plays the library around a deployer.
type world struct {
	t         *testing.T
	server    *testkit.APIServer
	namespace string
	transport *faults.Transport
	clusters  *target.Clusters
	deployer  *helm.Deployer
	// registries are the registries that charts may come from; nil means none.
	registries charts.Registries
	targets    map[string]*landscaper.Target
	item       *landscaper.DeployItem
	wake       chan struct{}
	// chart replaces CHART in configurations, as base64.
	chart string
	// limit is the timeout of one call; zero means as long as the test.
	limit time.Duration
	// calls is the context of calls; nil for that of the test.
	calls context.Context
}

const ownTarget = "cluster"

func newWorld(t *testing.T) *world {
	t.Helper()
	return newWorldOn(t, testkit.Server(t), "")
}

func newWorldOn(t *testing.T, server *testkit.APIServer, plan string) *world {
	t.Helper()
	w := &world{
		t: t, server: server, namespace: server.Namespace(t), transport: faults.New(faults.MustParse(plan)),
		targets: map[string]*landscaper.Target{}, wake: make(chan struct{}, 1),
	}
	w.restart()
	w.connect()
	w.targets[ownTarget] = testkit.Target(w.namespace, ownTarget).Cluster(t, server).Build()
	w.item = testkit.DeployItem(w.namespace, "item").Target(ownTarget).Build()
	w.item.UID, w.item.Spec.Type = types.UID(uuid.NewString()), landscaper.DeployItemTypeHelm
	return w
}

func (w *world) connect() {
	wrap := w.transport.Config(&rest.Config{}).WrapTransport
	w.clusters = target.NewClusters(target.Options{Dialer: dial.Rules{AllowLoopback: true}, WrapTransport: wrap})
	w.t.Cleanup(w.clusters.Close)
}

// restart forgets everything that is not stored, like a new process.
func (w *world) restart() {
	w.deployer = helm.New(charts.Options{Host: w.server.Client(), Dialer: dial.Rules{AllowLoopback: true}, Registries: w.registries})
}

func (w *world) work() deployer.Work {
	w.t.Helper()
	find := func(ctx context.Context, name string) (*target.Cluster, error) {
		found := w.targets[name]
		if found == nil {
			return nil, fmt.Errorf("there is no target %s", name)
		}
		return w.clusters.For(ctx, found)
	}
	own, err := find(w.t.Context(), ownTarget)
	if err != nil {
		w.t.Fatal(err)
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

// packed packs a chart from files, written one after the other as "-- name --" and their content. The chart is called shop
// unless there is a Chart.yaml.
func packed(text string) []byte {
	files := map[string]string{"Chart.yaml": "apiVersion: v2\nname: shop\nversion: 1.0.0\nappVersion: \"7\"\n"}
	for _, part := range strings.Split("\n"+text, "\n-- ")[1:] {
		name, content, _ := strings.Cut(part, " --\n")
		files[name] = content + "\n"
	}
	var buffer bytes.Buffer
	zipped := gzip.NewWriter(&buffer)
	archive := tar.NewWriter(zipped)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		_ = archive.WriteHeader(&tar.Header{Name: "shop/" + name, Mode: 0o600, Size: int64(len(files[name])), Typeflag: tar.TypeReg})
		_, _ = archive.Write([]byte(files[name]))
	}
	_ = archive.Close()
	_ = zipped.Close()
	return buffer.Bytes()
}

// use sets CHART to a chart with the given files.
func (w *world) use(text string) { w.chart = base64.StdEncoding.EncodeToString(packed(text)) }

// configure sets the item's configuration, without apiVersion and kind. NAMESPACE and CHART are replaced; the defaults for
// chart, name and namespace are CHART as an archive, shop and the world's namespace.
func (w *world) configure(text string) {
	w.t.Helper()
	config := map[string]any{
		"apiVersion": "helm.deployer.landscaper.gardener.cloud/v1alpha1", "kind": "ProviderConfiguration",
		"name": "shop", "namespace": w.namespace, "chart": map[string]any{"archive": map[string]any{"raw": w.chart}},
	}
	text = strings.ReplaceAll(strings.ReplaceAll(text, "NAMESPACE", w.namespace), "CHART", w.chart)
	if err := yaml.Unmarshal([]byte(text), &config); err != nil {
		w.t.Fatal(err)
	}
	raw, err := json.Marshal(config)
	if err != nil {
		w.t.Fatal(err)
	}
	w.item.Spec.Configuration = &runtime.RawExtension{Raw: raw}
	w.item.Generation++
}

// start starts a new job and stores what the deployer intends to do.
func (w *world) start() error {
	w.t.Helper()
	w.item.Status.JobID = uuid.NewString()
	intended, err := w.deployer.Intend(w.t.Context(), w.work())
	if err == nil && intended != nil {
		w.store(intended)
	}
	return err
}

func (w *world) store(status runtime.Object) {
	w.t.Helper()
	raw, err := json.Marshal(status)
	if err != nil {
		w.t.Fatal(err)
	}
	w.item.Status.ProviderStatus = &runtime.RawExtension{Raw: raw}
}

// remember sets the stored status to that of an earlier controller.
func (w *world) remember(text string) {
	raw, err := yaml.YAMLToJSON([]byte(strings.ReplaceAll(text, "NAMESPACE", w.namespace)))
	if err != nil {
		w.t.Fatal(err)
	}
	w.item.Status.ProviderStatus = &runtime.RawExtension{Raw: raw}
}

// pass calls the deployer once and stores the provider status that it returns.
func (w *world) pass() (deployer.Progress, error) {
	w.t.Helper()
	ctx := cmp.Or(w.calls, w.t.Context())
	if w.limit > 0 {
		limited, cancel := context.WithTimeout(ctx, w.limit)
		defer cancel()
		ctx = limited
	}
	return w.passIn(ctx)
}

func (w *world) passIn(ctx context.Context) (deployer.Progress, error) {
	w.t.Helper()
	call := w.deployer.Deploy
	if w.item.DeletionTimestamp != nil {
		call = w.deployer.Delete
	}
	progress, err := call(ctx, w.work())
	if progress.ProviderStatus != nil {
		w.store(progress.ProviderStatus)
	}
	return progress, err
}

// timeOutOnce makes calls reach their deadline when an object exists.
func (w *world) timeOutOnce(object client.Object) {
	w.t.Helper()
	var timeOut context.CancelCauseFunc
	w.calls, timeOut = context.WithCancelCause(w.t.Context())
	testkit.Run(w.t, func(context.Context) error {
		testkit.Eventually(w.t, w.server, object, testkit.Is("created", func(client.Object) bool { return true }))
		timeOut(context.DeadlineExceeded)
		return nil
	})
}

// deploy runs a job with a configuration until it waits for something that does not come, fails, or is done.
func (w *world) deploy(text string) (deployer.Progress, error) {
	w.t.Helper()
	w.configure(text)
	return w.run()
}

func (w *world) run() (deployer.Progress, error) {
	w.t.Helper()
	if err := w.start(); err != nil {
		return deployer.Progress{}, err
	}
	return w.goOn()
}

// goOn calls the deployer, again whenever it is woken, until it is done or fails.
func (w *world) goOn() (deployer.Progress, error) {
	w.t.Helper()
	return w.goOnAfter(func() {})
}

// goOnAfter runs a function once the item waits.
func (w *world) goOnAfter(something func()) (deployer.Progress, error) {
	w.t.Helper()
	happen := sync.OnceFunc(something)
	limit, cancel := context.WithTimeout(w.t.Context(), testkit.Patience)
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

// await waits for an event, or for a recheck that is due in moments.
func (w *world) await(limit context.Context, progress deployer.Progress) {
	w.t.Helper()
	var recheck <-chan time.Time
	if progress.Recheck < time.Second {
		recheck = time.After(progress.Recheck)
	}
	select {
	case <-w.wake:
	case <-recheck:
	case <-limit.Done():
		w.t.Fatalf("nobody woke the item, which waits: %+v", progress.Waiting)
	}
}

// succeed is deploy for jobs that must finish successfully.
func (w *world) succeed(text string) deployer.Progress {
	w.t.Helper()
	progress, err := w.deploy(text)
	if err != nil {
		w.t.Fatal(err)
	}
	return progress
}

// delete runs the deletion of the item to its end.
func (w *world) delete() {
	w.t.Helper()
	w.beginDelete()
	if _, err := w.goOn(); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) beginDelete() {
	now := metav1.Now()
	w.item.DeletionTimestamp, w.item.Status.JobID = &now, uuid.NewString()
}

func (w *world) status() helmv1alpha1.ProviderStatus {
	w.t.Helper()
	var status helmv1alpha1.ProviderStatus
	if err := json.Unmarshal(w.item.Status.ProviderStatus.Raw, &status); err != nil {
		w.t.Fatal(err)
	}
	return status
}

// managed names the objects in the status as kind/name.
func (w *world) managed() []string {
	w.t.Helper()
	names := []string{}
	for _, entry := range w.status().ManagedResources {
		names = append(names, entry.Resource.Kind+"/"+entry.Resource.Name)
	}
	return names
}

// content lists the ConfigMaps in the world's namespace as name=value of the key "key".
func (w *world) content() []string {
	w.t.Helper()
	var list corev1.ConfigMapList
	if err := w.server.Client().List(w.t.Context(), &list, client.InNamespace(w.namespace)); err != nil {
		w.t.Fatal(err)
	}
	result := []string{}
	for _, object := range list.Items {
		if object.Name != "kube-root-ca.crt" {
			result = append(result, object.Name+"="+object.Data["key"])
		}
	}
	slices.Sort(result)
	return result
}

func (w *world) configMap(name string) *corev1.ConfigMap {
	w.t.Helper()
	object := &corev1.ConfigMap{}
	if !w.read(name, object) {
		return nil
	}
	return object
}

func (w *world) read(name string, into client.Object) bool {
	w.t.Helper()
	err := w.server.Client().Get(w.t.Context(), client.ObjectKey{Namespace: w.namespace, Name: name}, into)
	if err != nil && !apierrors.IsNotFound(err) {
		w.t.Fatal(err)
	}
	return err == nil
}

// releases is the storage that Helm's own command uses.
func (w *world) releases() *storage.Storage {
	w.t.Helper()
	secrets, err := corev1client.NewForConfig(w.server.Config())
	if err != nil {
		w.t.Fatal(err)
	}
	return storage.Init(driver.NewSecrets(secrets.Secrets(w.namespace)))
}

// history lists the revisions of a release as number=status.
func (w *world) history(name string) []string {
	w.t.Helper()
	result := []string{}
	for _, r := range w.revisions(name) {
		result = append(result, fmt.Sprintf("%d=%s", r.Version, r.Info.Status))
	}
	return result
}

func (w *world) revisions(name string) []*release.Release {
	w.t.Helper()
	found, err := w.releases().History(name)
	if err != nil && !strings.Contains(err.Error(), "not found") {
		w.t.Fatal(err)
	}
	var result []*release.Release
	for _, each := range found {
		result = append(result, v1(each))
	}
	slices.SortFunc(result, func(a, b *release.Release) int { return a.Version - b.Version })
	return result
}

func v1(each ri.Releaser) *release.Release {
	result, _ := each.(*release.Release)
	return result
}

// requests returns the requests sent to the cluster since the last call, without discovery and watches.
func (w *world) requests(seen *int) []string {
	result := []string{}
	log := w.transport.Log()
	for _, entry := range log[*seen:] {
		if entry.Resource != "" && entry.Verb != "watch" {
			result = append(result, entry.Verb+" "+entry.Resource)
		}
	}
	*seen = len(log)
	return result
}

// writes returns the requests that change something.
func (w *world) writes(seen *int) []string {
	return slices.DeleteFunc(w.requests(seen), func(r string) bool { return strings.HasPrefix(r, "get ") || strings.HasPrefix(r, "list ") })
}

// version returns the version of the cluster.
func (w *world) version() string {
	w.t.Helper()
	asker, err := discovery.NewDiscoveryClientForConfig(w.server.Config())
	if err != nil {
		w.t.Fatal(err)
	}
	version, err := asker.ServerVersion()
	if err != nil {
		w.t.Fatal(err)
	}
	return version.GitVersion
}
