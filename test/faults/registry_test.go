// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/oci"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/components"
	"espalier.dev/internal/testkit/registry"
)

// What a registry may do instead of answering a request.
const (
	registryFails       processFault = "registryFails"
	registryRefuses     processFault = "registryRefuses"
	registryIsBusy      processFault = "registryIsBusy"
	registryBreaksOff   processFault = "registryBreaksOff"
	registrySendsOthers processFault = "registrySendsOthers"
)

var registryFaults = map[processFault]registry.Fault{
	registryFails:       registry.Status(http.StatusInternalServerError),
	registryRefuses:     registry.Status(http.StatusUnauthorized),
	registryIsBusy:      registry.Status(http.StatusTooManyRequests, "Retry-After", "1"),
	registryBreaksOff:   registry.Half,
	registrySendsOthers: registry.Wrong,
}

// shelves is the registry of all scenes. Each has its own path in it, which is its namespace.
type shelves struct {
	*registry.Registry

	mutex sync.Mutex
	asked map[string]int // how many requests there were, by namespace
	plans map[string]disturbance
}

var commonShelves = sync.OnceValue(func() *shelves {
	s := &shelves{Registry: registry.StartShared(), asked: map[string]int{}, plans: map[string]disturbance{}}
	s.Break(s.answer)
	return s
})

// answer makes a request fail if it is the one in a disturbance. Requests that fill the registry do not count.
func (s *shelves) answer(w http.ResponseWriter, r *http.Request, real http.Handler) bool {
	namespace, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/v2/"), "/")
	if r.Method != http.MethodGet || namespace == "" {
		return false
	}
	s.mutex.Lock()
	s.asked[namespace]++
	plan := s.plans[namespace]
	strikes := plan.at == s.asked[namespace]
	s.mutex.Unlock()
	return strikes && registryFaults[plan.processFault](w, r, real)
}

func (s *shelves) requests(namespace string) int {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.asked[namespace]
}

func (s *shelves) plan(namespace string, d disturbance) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.plans[namespace] = d
}

func (d disturbance) isOfRegistry() bool { return registryFaults[d.processFault] != nil }

// A tree comes from the components of a registry, changes over to their next version, and goes.

// publish fills the shelf of a scene with a version of two components.
func (s *scene) publish(t *testing.T, version string) {
	t.Helper()
	leaf := blueprint{items: []any{manifestItem("fill", s.namespace, version, "vase")}}
	root := blueprint{subs: []any{map[string]any{
		"apiVersion": lsv1alpha1.SchemeGroupVersion.String(),
		"kind":       "InstallationTemplate",
		"name":       "vase",
		"blueprint":  map[string]any{"ref": "cd://componentReferences/vase/resources/blueprint"},
		"imports":    map[string]any{"targets": []any{map[string]any{"name": targetName, "target": targetName}}},
	}}}
	resource := func(b blueprint) []components.Resource {
		return []components.Resource{components.Blueprint(t, "blueprint", map[string]string{"blueprint.yaml": b.text()})}
	}
	components.Component{
		Name: "example.com/florist", Version: version, Below: s.namespace, Resources: resource(root),
		References: []components.Component{
			{Name: "example.com/vase", Version: version, Below: s.namespace, Resources: resource(leaf)},
		},
	}.Push(t, components.Store(t, commonShelves().Registry, oci.Credential{}))
}

func order(t *testing.T, s *scene) {
	s.publish(t, "1.0.0")
	s.publish(t, "2.0.0")
	shelf := testkit.Context(s.namespace, "shelf").Build()
	shelf.RepositoryContext = &lsv1alpha1.AnyJSON{Raw: fmt.Appendf(nil, `{"type":"OCIRegistry","baseUrl":"%s/%s"}`, commonShelves().URL, s.namespace)}
	s.create(t, shelf, testkit.Installation(s.namespace, "florist").ImportTarget(targetName, targetName).Context("shelf").
		BlueprintRef("blueprint").Component("example.com/florist", "1.0.0").Reconcile().Build())
	s.succeeds(t, "florist")
	s.holds(t, "vase", "1.0.0")
	s.rest(t, "ordered")
}

func orderAgain(t *testing.T, s *scene) {
	s.patch(t, s.installation("florist"), `{"spec":{"componentDescriptor":{"ref":{"version":"2.0.0"}}}}`)
	s.ask(t, "florist", lsv1alpha1.OperationReconcile)
	s.succeeds(t, "florist")
	s.holds(t, "vase", "2.0.0")
	s.rest(t, "ordered again")
}

func cancelOrder(t *testing.T, s *scene) {
	s.remove(t, "florist")
	s.gone(t, "florist")
	s.lacks(t, "vase")
	s.rest(t, "gone")
}

// Every request to a registry fails once, in each way; in a sample, each in one way.
func TestRegistryFaults(t *testing.T) {
	t.Parallel()
	w := workloadNamed(t, "order")
	kinds := []processFault{registryFails, registryRefuses, registryIsBusy, registryBreaksOff, registrySendsOthers}
	if len(kinds) != len(registryFaults) {
		t.Fatal("a fault is missing")
	}
	requests := reference(t, w).asked
	if requests < 8 {
		t.Fatalf("a good day has %d requests to the registry, want at least the descriptor and the blueprint of two components in two versions", requests)
	}
	var all []disturbance
	for request := range requests {
		for i, kind := range kinds {
			if *full || i == request%len(kinds) {
				all = append(all, disturbance{processFault: kind, at: request + 1})
			}
		}
	}
	sweep(t, w, all)
}
