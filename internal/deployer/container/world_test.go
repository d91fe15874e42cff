// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package container_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	containerv1alpha1 "espalier.dev/api/deployer/container/v1alpha1"
	landscaper "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/deployer"
	"espalier.dev/internal/controller/deployitems"
	"espalier.dev/internal/deployer/container"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/faults"
)

func TestMain(m *testing.M) { testkit.Main(m) }

const (
	ownTarget   = "cluster"
	helperImage = "registry.example.com/espalier-container:test"
)

// world is a namespace whose container items are really deployed, up to the pods. There are no nodes: tests play the kubelet, see
// kubelet_test.go, and nothing else is simulated.
type world struct {
	*testkit.World
	options   container.Options
	transport *faults.Transport
}

func newWorld(t *testing.T, change ...func(*container.Options)) *world {
	t.Helper()
	w := &world{World: testkit.NewWorld(t)}
	w.options = container.Options{HelperImage: helperImage, Namespaces: []string{w.Namespace}}
	for _, f := range change {
		f(&w.options)
	}
	return w
}

// process runs the deployer, and the watchdog of deploy items, until the test ends or the process is stopped. If the plan makes it
// crash, another one follows.
func (w *world) process(plan string) *testkit.Process {
	w.Helper()
	w.transport = faults.New(faults.MustParse(plan))
	first, crashed := w.manager(w.transport), w.transport.Crashed()
	next := w.manager(faults.New(faults.Plan{}))
	p := testkit.Start(w.Context(), func(ctx context.Context) error {
		living, cancel := context.WithCancel(ctx)
		defer cancel()
		go func() {
			select {
			case <-crashed:
				cancel()
			case <-living.Done():
			}
		}()
		err := first.Start(living)
		if ctx.Err() != nil {
			return err
		}
		return next.Start(ctx)
	})
	w.Cleanup(func() { _ = p.Stop() })
	return p
}

func (w *world) manager(transport *faults.Transport) ctrl.Manager {
	w.Helper()
	mgr := testkit.NewManager(w.T, transport.Config(w.Config()), w.Namespace, testkit.ShortGrace)
	if err := container.Setup(mgr, w.options, deployer.Options{Name: container.Name, Workers: 2}); err != nil {
		w.Fatal(err)
	}
	if err := deployitems.Setup(mgr, deployitems.Options{PickupTimeout: landscaper.NoDuration, Workers: 1}); err != nil {
		w.Fatal(err)
	}
	return mgr
}

// item creates a deploy item with a configuration, without apiVersion and kind, and starts its first job.
func (w *world) item(name, config string, change ...func(*landscaper.DeployItem)) *landscaper.DeployItem {
	w.Helper()
	item := w.newItem(w.Namespace, name, config)
	for _, f := range change {
		f(item)
	}
	w.Create(item)
	w.begin(item, "first")
	return item
}

// deployed creates a deploy item and runs its image, which does nothing.
func (w *world) deployed(name string) (*landscaper.DeployItem, *corev1.Pod) {
	w.Helper()
	item := w.item(name, "image: shop")
	pod := w.pod(item)
	w.runs(pod, nothing)
	w.succeeds(item)
	w.gone(pod)
	return item, pod
}

func (w *world) newItem(namespace, name, config string) *landscaper.DeployItem {
	w.Helper()
	object := map[string]any{"apiVersion": containerv1alpha1.SchemeGroupVersion.String(), "kind": "ProviderConfiguration"}
	if err := yaml.Unmarshal([]byte(config), &object); err != nil {
		w.Fatal(err)
	}
	return testkit.DeployItem(namespace, name).Config(landscaper.DeployItemTypeContainer, object).Finalizer(landscaper.Finalizer).Build()
}

// withTarget gives an item a Target that contains a secret.
func (w *world) withTarget(config any) func(*landscaper.DeployItem) {
	w.Create(testkit.Target(w.Namespace, ownTarget).Type("example.com/place").Config(config).Build())
	return func(item *landscaper.DeployItem) {
		item.Spec.Target = &landscaper.ObjectReference{Name: ownTarget, Namespace: w.Namespace}
	}
}

// begin starts a job of an item, as its execution would.
func (w *world) begin(item *landscaper.DeployItem, job string) {
	w.Helper()
	w.SetStatus(item, map[string]any{"jobID": job})
}

// interrupt ends the job of an item, as its execution would.
func (w *world) interrupt(item *landscaper.DeployItem) {
	w.Helper()
	w.Read(item)
	w.SetStatus(item, map[string]any{"phase": landscaper.PhaseFailed, "jobIDFinished": item.Status.JobID})
}

func (w *world) succeeds(item *landscaper.DeployItem) *landscaper.DeployItem {
	w.Helper()
	return testkit.EventuallyFinished(w.T, w.APIServer, item, landscaper.PhaseSucceeded)
}

func (w *world) fails(item *landscaper.DeployItem) *landscaper.DeployItem {
	w.Helper()
	return testkit.EventuallyFinished(w.T, w.APIServer, item, landscaper.PhaseFailed)
}

// waits waits until an item waits for a given reason, and returns the message.
func (w *world) waits(item *landscaper.DeployItem, code string) string {
	w.Helper()
	var message string
	testkit.Eventually(w.T, w.APIServer, item, testkit.Is("waiting: "+code, func(i *landscaper.DeployItem) bool {
		return slices.ContainsFunc(i.Status.Conditions, func(c landscaper.Condition) bool {
			message = c.Message
			return c.Reason == code
		})
	}))
	return message
}

func (w *world) status(item *landscaper.DeployItem) containerv1alpha1.ProviderStatus {
	w.Helper()
	w.Read(item)
	var status containerv1alpha1.ProviderStatus
	if err := json.Unmarshal(item.Status.ProviderStatus.Raw, &status); err != nil {
		w.Fatal(err)
	}
	return status
}

// exports returns the exports of an item; nil if there are none.
func (w *world) exports(item *landscaper.DeployItem) map[string]any {
	w.Helper()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: item.Namespace, Name: item.Name + "-export"}}
	if !w.Read(secret) {
		return nil
	}
	var exports map[string]any
	if err := json.Unmarshal(secret.Data[landscaper.ExportSecretKey], &exports); err != nil {
		w.Fatal(err)
	}
	return exports
}

// objects lists all objects of the deployer in a namespace as kind/name, except pods.
func (w *world) objects(namespace string) []string {
	w.Helper()
	names := []string{}
	for _, list := range []client.ObjectList{
		&corev1.SecretList{}, &corev1.ServiceAccountList{}, &rbacv1.RoleList{}, &rbacv1.RoleBindingList{},
	} {
		ours := client.MatchingLabels{"espalier.dev/deployer": "container"}
		if err := w.Client().List(w.Context(), list, client.InNamespace(namespace), ours); err != nil {
			w.Fatal(err)
		}
		raw, err := json.Marshal(list)
		if err != nil {
			w.Fatal(err)
		}
		var found struct {
			Items []metav1.PartialObjectMetadata `json:"items"`
		}
		if err := json.Unmarshal(raw, &found); err != nil {
			w.Fatal(err)
		}
		for _, object := range found.Items {
			names = append(names, fmt.Sprintf("%T/%s", list, object.Name))
		}
	}
	return names
}

// nothingLeft checks that no object of the deployer is left in the namespace.
func (w *world) nothingLeft() {
	w.Helper()
	if left := w.objects(w.Namespace); len(left) > 0 {
		w.Errorf("this is left: %v", left)
	}
}

// createdPods checks how often the first process has created a pod.
func (w *world) createdPods(want int) {
	w.Helper()
	log, err := w.transport.Log().Matching("create/pods")
	if err != nil {
		w.Fatal(err)
	}
	if len(log) != want {
		w.Errorf("%d pods were created, want %d", len(log), want)
	}
}

// eventually waits for a condition that no single object shows.
func (w *world) eventually(what string, holds func() bool) {
	w.Helper()
	watcher, err := w.Client().Watch(w.Context(), &corev1.SecretList{}, client.InNamespace(w.Namespace))
	if err != nil {
		w.Fatal(err)
	}
	defer watcher.Stop()
	limit, cancel := context.WithTimeout(w.Context(), testkit.Patience)
	defer cancel()
	for !holds() {
		select {
		case <-watcher.ResultChan():
		case <-limit.Done():
			w.Fatalf("%s: not in time", what)
		}
	}
}

func lastError(item *landscaper.DeployItem) string {
	if item.Status.LastError == nil {
		return ""
	}
	e := item.Status.LastError
	return strings.Join([]string{e.Operation, e.Reason, e.Message}, " | ")
}
