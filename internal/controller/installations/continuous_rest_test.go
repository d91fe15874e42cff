// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package installations_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
)

// requests records all requests of the controllers except watches.
type requests struct {
	next http.RoundTripper
	mu   sync.Mutex
	seen []string
}

func (r *requests) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.URL.Query().Get("watch") == "" {
		r.mu.Lock()
		r.seen = append(r.seen, request.Method+" "+request.URL.String())
		r.mu.Unlock()
	}
	return r.next.RoundTrip(request)
}

// since returns the requests after the first n that mention one of the names.
func (r *requests) since(n int, names []string) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(r.seen[n:]), func(request string) bool {
		return !slices.ContainsFunc(names, func(name string) bool { return strings.Contains(request, name) })
	})
}

func (r *requests) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.seen)
}

// watched is a world whose controllers' requests are counted.
func watched(t *testing.T) (*world, *requests) {
	t.Helper()
	w, counted := idleWorld(t), &requests{}
	config := w.server.Config()
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		counted.next = next
		return counted
	})
	w.run(config)
	return w, counted
}

// apply applies a manifest as GitOps tools do.
func (w *world) apply(inst *lsv1alpha1.Installation) {
	w.Helper()
	inst = inst.DeepCopy()
	inst.TypeMeta = metav1.TypeMeta{APIVersion: lsv1alpha1.SchemeGroupVersion.String(), Kind: "Installation"}
	data, err := json.Marshal(inst)
	if err == nil {
		err = w.cluster.Patch(w.Context(), inst, client.RawPatch(types.ApplyPatchType, data), client.FieldOwner("gitops"), client.ForceOwnership)
	}
	if err != nil {
		w.Fatal(err)
	}
}

// A finished tree costs nothing: neither the same manifest, applied again and again, nor work on other objects causes a single request
// about it.
func TestCON14_AFinishedTreeAsksForNothing(t *testing.T) {
	w, counted := watched(t)
	recorder := w.recorded()
	manifest := func(text string) *lsv1alpha1.Installation {
		return w.installation("tree", imports("base")+threeLevels(value(text))).Continuous().ImportSecret("base", "base", "word").Build()
	}
	w.create(w.secret("base", "x"))
	w.gitops(recorder, func() { w.apply(manifest("1")); w.completed("tree", lsv1alpha1.PhaseSucceeded) }, 3)
	// Events arrive up to two seconds late.
	recorder.Quiet(t, 4*time.Second)
	begun, written := counted.count(), recorder.History()
	for range 5 {
		w.apply(manifest("1"))
	}
	// When an installation that was created later is finished, all consequences have occurred.
	w.create(w.installation("later", header+deploy(item("one"))).Continuous().Build())
	w.completed("later", lsv1alpha1.PhaseSucceeded)
	middle := w.children("tree")["middle"].Name
	names := []string{"/tree", "tree-", "%3Dtree", middle, w.children(middle)["leaf"].Name}
	if asked := counted.since(begun, names); len(asked) > 0 {
		t.Errorf("%d requests: %q", len(asked), asked)
	}
	if all := counted.since(0, names); len(all) < 12 {
		t.Errorf("only %d requests were counted at all: %q", len(all), all)
	}
	for _, r := range recorder.Since(written) {
		if r.Object.GetName() != "later" && !strings.HasPrefix(r.Object.GetName(), "later-") {
			t.Errorf("%s %s was written", r.Object.GetKind(), r.Object.GetName())
		}
	}

	// A Secret that is rewritten with the same content changes nothing.
	written = recorder.History()
	w.patch(w.secret("base", "x"), `{"metadata":{"annotations":{"touched":"yes"}}}`)
	w.create(w.installation("last", empty).Continuous().Build())
	w.completed("last", lsv1alpha1.PhaseSucceeded)
	recorder.Quiet(t, time.Second)
	for _, r := range recorder.Since(written) {
		if r.Object.GetName() != "last" {
			t.Errorf("%s %s was written", r.Object.GetKind(), r.Object.GetName())
		}
	}
}

// Two changes of a manifest in direct succession end with the second one, and each deploy item is deployed at most once for each.
func TestCON21_AManifestThatChangesTwiceIsFollowedToItsEnd(t *testing.T) {
	w := newWorld(t)
	recorder := w.recorded()
	manifest := func(text string) *lsv1alpha1.Installation {
		return w.installation("root", threeLevels(value(text))).Continuous().Build()
	}
	w.gitops(recorder, func() { w.apply(manifest("1")); w.completed("root", lsv1alpha1.PhaseSucceeded) }, 3)
	before := recorder.History()
	w.apply(manifest("2"))
	w.apply(manifest("3"))
	w.completed("root", lsv1alpha1.PhaseSucceeded)
	recorder.Quiet(t, time.Second)
	if begun, _ := deployments(recorder.Since(before)); begun < 1 || begun > 2 {
		t.Errorf("%d deployments", begun)
	}
	if low := w.items()["low"]; !strings.Contains(string(low.Spec.Configuration.Raw), `"3"`) {
		t.Errorf("the deploy item is %s", low.Spec.Configuration.Raw)
	}
	w.checkContinuous(recorder.History())
}
