// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package freshness_test

import (
	"context"
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/freshness"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/faults"
)

func TestMain(m *testing.M) { testkit.MainWithOthers(m) }

const (
	resource = "dataobjects"
	label    = "test.espalier.dev/kind"
	byValue  = "value"
	keep     = "test.espalier.dev/keep"
)

// world is a manager whose cache can be held back, and another writer.
type world struct {
	t         *testing.T
	namespace string
	transport *faults.Transport
	// fresh and live are under test; cached is the cache below.
	fresh  client.Client
	live   client.Reader
	cached client.Reader
	other  client.Client
}

// options change how a world is created.
type options struct {
	// leading says that the manager takes over from another one.
	leading bool
	// more are namespaces that the cache contains in addition to the world's own. A leading manager has only that one, others have all.
	more []string
}

func newWorld(t *testing.T, o options) *world {
	t.Helper()
	t.Parallel()
	server := testkit.Server(t)
	w := &world{t: t, namespace: server.Namespace(t), transport: faults.New(faults.Plan{}), other: server.Client()}
	informers := &freshness.Informers{}
	var namespaces map[string]cache.Config
	if o.leading || len(o.more) > 0 {
		namespaces = map[string]cache.Config{w.namespace: {}}
	}
	for _, name := range o.more {
		namespaces[name] = cache.Config{}
	}
	mgr, err := ctrl.NewManager(w.transport.Config(server.Config()), ctrl.Options{
		Scheme: server.Client().Scheme(), Metrics: metricsserver.Options{BindAddress: "0"}, Logger: logr.Discard(),
		Cache: cache.Options{DefaultNamespaces: namespaces, NewInformer: informers.New},
	})
	if err != nil {
		t.Fatal(err)
	}
	w.cached = mgr.GetCache()
	if o.leading {
		mgr = freshness.Leading(mgr, informers, append(slices.Clone(o.more), w.namespace))
	} else {
		mgr = freshness.Of(mgr)
	}
	w.fresh, w.live = mgr.GetClient(), mgr.GetAPIReader()
	if again := freshness.Of(mgr).GetClient(); again != w.fresh {
		t.Error("a second controller of the manager has a client of its own")
	}
	err = mgr.GetFieldIndexer().IndexField(t.Context(), &lsv1alpha1.DataObject{}, byValue, func(o client.Object) []string {
		return []string{string(o.(*lsv1alpha1.DataObject).Data.Raw)}
	})
	if err != nil {
		t.Fatal(err)
	}
	w.run(mgr)
	return w
}

// run starts the manager and waits for its cache.
func (w *world) run(mgr ctrl.Manager) {
	w.t.Helper()
	ctx, cancel := context.WithCancel(w.t.Context())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	w.t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			w.t.Errorf("the manager ended: %v", err)
		}
	})
	<-mgr.Elected() // the caches are filled before that
}

func (w *world) object(name, value string) *lsv1alpha1.DataObject {
	return testkit.DataObject(w.namespace, name, value).Label(label, "a").Build()
}

// see returns the value of an object as a reader shows it, "" if it shows none.
func (w *world) see(reader client.Reader, name string) string {
	w.t.Helper()
	var object lsv1alpha1.DataObject
	err := reader.Get(w.t.Context(), client.ObjectKey{Namespace: w.namespace, Name: name}, &object)
	if apierrors.IsNotFound(err) {
		return ""
	}
	if err != nil {
		w.t.Fatal(err)
	}
	return valueOf(&object)
}

func valueOf(object *lsv1alpha1.DataObject) string {
	var value string
	_ = json.Unmarshal(object.Data.Raw, &value) // a value that is not a string is not the expected one
	return value
}

// list returns the values of the objects that a list shows, sorted.
func (w *world) list(opts ...client.ListOption) []string {
	w.t.Helper()
	var list lsv1alpha1.DataObjectList
	if err := w.fresh.List(w.t.Context(), &list, append(opts, client.InNamespace(w.namespace))...); err != nil {
		w.t.Fatal(err)
	}
	values := []string{}
	for i := range list.Items {
		values = append(values, valueOf(&list.Items[i]))
	}
	slices.Sort(values)
	return values
}

func (w *world) expect(what string, got, want any) {
	w.t.Helper()
	if a, b := text(w.t, got), text(w.t, want); a != b {
		w.t.Errorf("%s: %s is seen, and it is %s", what, a, b)
	}
}

func text(t *testing.T, value any) string {
	encoded, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(encoded)
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// eventually waits until something holds.
func (w *world) eventually(what string, holds func() bool) {
	w.t.Helper()
	err := wait.PollUntilContextTimeout(w.t.Context(), 5*time.Millisecond, testkit.Patience, true,
		func(context.Context) (bool, error) { return holds(), nil })
	if err != nil {
		w.t.Fatalf("it never happens that %s", what)
	}
}

// reads counts the requests that a function makes to read objects.
func (w *world) reads(do func()) int {
	count := func() int {
		return len(w.transport.Log().Where(func(e faults.Entry) bool {
			return e.Request.Resource == resource && (e.Request.Verb == "get" || e.Request.Verb == "list")
		}))
	}
	before := count()
	do()
	return count() - before
}

func TestReadsShowWhatWasWritten(t *testing.T) {
	w := newWorld(t, options{})
	w.expect("an object that does not exist", w.see(w.fresh, "x"), "")
	w.transport.Hold(resource)
	object := w.object("x", "one")
	w.must(w.fresh.Create(t.Context(), object))
	requests := w.reads(func() {
		w.expect("after the creation", w.see(w.fresh, "x"), "one")
		w.expect("by its label", w.list(client.MatchingLabels{label: "a"}), []string{"one"})
		w.expect("by its value", w.list(client.MatchingFields{byValue: `"one"`}), []string{"one"})
		w.expect("by another label", w.list(client.MatchingLabels{label: "b"}), []string{})
	})
	object.Data.Raw, object.Labels[label] = []byte(`"two"`), "b"
	w.must(w.fresh.Update(t.Context(), object))
	requests += w.reads(func() {
		w.expect("after an update", w.see(w.fresh, "x"), "two")
		w.expect("by its label", w.list(client.MatchingLabels{label: "b"}), []string{"two"})
		w.expect("by the label of before", w.list(client.MatchingLabels{label: "a"}), []string{})
		w.expect("by the value of before", w.list(client.MatchingFields{byValue: `"one"`}), []string{})
	})
	if shown := w.see(w.cached, "x"); shown != "" || requests != 0 {
		t.Errorf("the cache shows %q, and %d reads were sent", shown, requests)
	}
	w.transport.Release(resource)
	w.eventually("the cache shows the update", func() bool { return w.see(w.cached, "x") == "two" })
	object.Data.Raw = []byte(`"three"`)
	w.must(w.other.Update(t.Context(), object))
	w.eventually("somebody else's update is shown", func() bool { return w.see(w.fresh, "x") == "three" })
	w.must(w.other.Delete(t.Context(), object))
	w.eventually("somebody else's deletion is shown", func() bool { return w.see(w.fresh, "x") == "" && len(w.list()) == 0 })
}

// The response to such a patch contains only the metadata; the rest follows from the previous object.
func TestReadsShowWhatWasPatched(t *testing.T) {
	w := newWorld(t, options{})
	w.must(w.other.Create(t.Context(), w.object("x", "one")))
	w.eventually("the cache shows the object", func() bool { return w.see(w.fresh, "x") == "one" })
	w.transport.Hold(resource)
	requests := w.reads(func() {
		for _, value := range []string{"two", "three"} {
			var before lsv1alpha1.DataObject
			w.must(w.fresh.Get(t.Context(), client.ObjectKey{Namespace: w.namespace, Name: "x"}, &before))
			patch := map[string]any{
				"metadata": map[string]any{"resourceVersion": before.ResourceVersion, "labels": map[string]any{label: value}},
				"data":     value,
			}
			w.must(w.patch("x", patch))
			w.expect("after a patch", w.see(w.fresh, "x"), value)
			w.expect("by its label", w.list(client.MatchingLabels{label: value}), []string{value})
			var after, stored lsv1alpha1.DataObject
			w.must(w.fresh.Get(t.Context(), client.ObjectKeyFromObject(&before), &after))
			w.must(w.other.Get(t.Context(), client.ObjectKeyFromObject(&before), &stored))
			stored.ManagedFields = nil
			w.expect("as a whole", after.ObjectMeta, stored.ObjectMeta)
		}
	})
	if shown := w.see(w.cached, "x"); shown != "one" || requests != 0 {
		t.Errorf("the cache shows %q, and %d reads were sent", shown, requests)
	}
	// Without a lock, the previous state of the object is unknown.
	w.must(w.patch("x", map[string]any{"data": "four"}))
	if requests = w.reads(func() { w.expect("after a patch without a lock", w.see(w.fresh, "x"), "four") }); requests != 1 {
		t.Errorf("%d reads were sent for an object that is known by its version only", requests)
	}
}

func (w *world) patch(name string, patch map[string]any) error {
	answer := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name}}
	answer.SetGroupVersionKind(lsv1alpha1.SchemeGroupVersion.WithKind("DataObject"))
	return w.fresh.Patch(w.t.Context(), answer, client.RawPatch(types.MergePatchType, []byte(text(w.t, patch))))
}

func TestWhatWentWithItsLastFinalizerIsGone(t *testing.T) {
	w := newWorld(t, options{})
	w.expect("before", w.list(), []string{})
	object := w.object("x", "one")
	object.Finalizers = []string{keep}
	w.must(w.fresh.Create(t.Context(), object))
	w.eventually("the cache shows the object", func() bool { return w.see(w.cached, "x") == "one" })
	w.transport.Hold(resource)
	w.must(w.other.Delete(t.Context(), object))
	w.must(w.other.Get(t.Context(), client.ObjectKeyFromObject(object), object))
	w.must(w.patch("x", map[string]any{"metadata": map[string]any{"resourceVersion": object.ResourceVersion, "finalizers": nil}}))
	w.expect("after the last finalizer", w.see(w.fresh, "x"), "")
	w.expect("in a list", w.list(), []string{})
	w.expect("in the cache", w.see(w.cached, "x"), "one")
	w.must(w.fresh.Create(t.Context(), w.object("x", "two")))
	w.expect("a new one of the same name", w.see(w.fresh, "x"), "two")
	w.transport.Release(resource)
	w.eventually("the cache shows the new one", func() bool { return w.see(w.cached, "x") == "two" && w.see(w.fresh, "x") == "two" })
}

func TestNothingIsOlderThanALiveRead(t *testing.T) {
	w := newWorld(t, options{})
	x, y := w.object("x", "one"), w.object("y", "one")
	for _, object := range []*lsv1alpha1.DataObject{x, y} {
		w.must(w.other.Create(t.Context(), object))
		w.eventually("the cache shows the object", func() bool { return w.see(w.fresh, object.Name) == "one" })
	}
	w.transport.Hold(resource)
	x.Data.Raw = []byte(`"two"`)
	w.must(w.other.Update(t.Context(), x))
	w.must(w.other.Create(t.Context(), w.object("z", "two")))
	w.expect("before anybody has looked", w.list(), []string{"one", "one"})
	var list lsv1alpha1.DataObjectList
	w.must(w.live.List(t.Context(), &list, client.InNamespace(w.namespace)))
	w.expect("after a live list", w.list(), []string{"one", "two", "two"})
	w.must(w.other.Delete(t.Context(), y))
	w.expect("live, after a deletion", w.see(w.live, "y"), "")
	w.expect("after that", w.see(w.fresh, "y"), "")
	w.expect("in a list", w.list(), []string{"two", "two"})
	w.expect("in the cache", w.see(w.cached, "y"), "one")
	w.transport.Release(resource)
	w.eventually("the cache shows the deletion", func() bool { return w.see(w.cached, "y") == "" && w.see(w.fresh, "y") == "" })
	w.must(w.other.Create(t.Context(), w.object("y", "three")))
	w.eventually("one of the same name is shown", func() bool { return w.see(w.fresh, "y") == "three" })
}

// While the caches were filled, the previous leader continued to write.
func TestANewLeaderSeesWhatTheOneBeforeHasWritten(t *testing.T) {
	w := newWorld(t, options{leading: true})
	x, y := w.object("x", "one"), w.object("y", "one")
	for _, object := range []*lsv1alpha1.DataObject{x, y} {
		w.must(w.other.Create(t.Context(), object))
		w.eventually("the cache shows the object", func() bool { return w.see(w.cached, object.Name) == "one" })
	}
	w.transport.Hold(resource)
	x.Data.Raw = []byte(`"two"`)
	w.must(w.other.Update(t.Context(), x))
	w.must(w.other.Delete(t.Context(), y))
	w.must(w.other.Create(t.Context(), w.object("z", "three")))
	w.expect("all", w.list(), []string{"three", "two"})
	w.expect("what was deleted", w.see(w.fresh, "y"), "")
	w.expect("in the cache", []string{w.see(w.cached, "x"), w.see(w.cached, "y"), w.see(w.cached, "z")}, []string{"one", "one", ""})
	if requests := w.reads(func() { w.list() }); requests != 0 {
		t.Errorf("the second look costs %d requests", requests)
	}
}

// The progress of a cache of several namespaces is unknown, so the client asks the API server for what the cache does not show.
func TestSeveralNamespaces(t *testing.T) {
	w := newWorld(t, options{more: []string{"default"}})
	w.expect("before", w.list(), []string{})
	w.transport.Hold(resource)
	object := w.object("x", "one")
	w.must(w.fresh.Create(t.Context(), object))
	if requests := w.reads(func() { w.expect("after the creation", w.list(), []string{"one"}) }); requests != 1 {
		t.Errorf("%d reads were sent", requests)
	}
	w.must(w.other.Delete(t.Context(), object))
	w.expect("after a deletion", w.see(w.fresh, "x"), "")
	w.expect("in a list", w.list(), []string{})
	w.must(w.fresh.Create(t.Context(), w.object("y", "two")))
	w.transport.Release(resource)
	w.eventually("the cache shows the new one alone", func() bool { return w.see(w.cached, "y") == "two" && w.see(w.cached, "x") == "" })
	w.expect("at the end", w.list(), []string{"two"})
}
