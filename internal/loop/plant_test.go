// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package loop_test

import (
	"fmt"
	"maps"
	"slices"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/decision"
	"espalier.dev/internal/run"
)

// Plant is the small kind on which the loop is proven. A request starts a job that creates one ConfigMap per pot, waits
// until a gardener has marked each as grown, and then creates exactly one basket, by an effect that is not idempotent.
// Deleting a plant removes its pots.
type Plant struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              PlantSpec   `json:"spec"`
	Status            PlantStatus `json:"status,omitempty"`
}

// PlantSpec names the pots, and how planting fails, if it shall.
type PlantSpec struct {
	Pots []string `json:"pots,omitempty"`
	Fail string   `json:"fail,omitempty"`
}

// PlantStatus is the status of every run-shaped kind.
type PlantStatus struct {
	lsv1alpha1.RunStatus `json:",inline"`
}

// PlantList is a list of plants.
type PlantList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata"`
	Items           []Plant `json:"items"`
}

// DeepCopyObject implements runtime.Object.
func (p *Plant) DeepCopyObject() runtime.Object {
	c := *p
	c.ObjectMeta = *p.ObjectMeta.DeepCopy()
	c.Spec.Pots = slices.Clone(p.Spec.Pots)
	c.Status.RunStatus = *p.Status.RunStatus.DeepCopy()
	return &c
}

// DeepCopyObject implements runtime.Object.
func (l *PlantList) DeepCopyObject() runtime.Object {
	c := *l
	c.Items = make([]Plant, len(l.Items))
	for i := range l.Items {
		c.Items[i] = *l.Items[i].DeepCopyObject().(*Plant)
	}
	return &c
}

var plantGroup = schema.GroupVersion{Group: "test.espalier.dev", Version: "v1"}

func addPlant(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(plantGroup, &Plant{}, &PlantList{})
	metav1.AddToGroupVersion(scheme, plantGroup)
	return nil
}

func plantCRD() *apiextensionsv1.CustomResourceDefinition {
	free := true
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "plants." + plantGroup.Group},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: plantGroup.Group,
			Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "plants", Singular: "plant", Kind: "Plant", ListKind: "PlantList"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: plantGroup.Version, Served: true, Storage: true,
				Schema:       &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: &free}},
				Subresources: &apiextensionsv1.CustomResourceSubresources{Status: &apiextensionsv1.CustomResourceSubresourceStatus{}},
			}},
		},
	}
}

// facts is everything that a decision about a plant depends on.
type facts struct {
	phase    lsv1alpha1.Phase
	job      run.Job
	request  run.Request
	deleting bool
	freshID  string
	now      time.Time
	// pots maps each wanted pot, and each that is there, to what is known of it.
	pots   map[string]pot
	basket bool
}

type pot struct{ exists, grown bool }

func (f facts) with(change func(*facts)) facts {
	f.pots = maps.Clone(f.pots)
	change(&f)
	return f
}

type effect interface{ fmt.Stringer }

type (
	grant     struct{}
	plantPots struct{}
	harvest   struct{}
	clearPots struct{}
	letGo     struct{}
)

func (grant) String() string     { return "grant the request" }
func (plantPots) String() string { return "plant the pots" }
func (harvest) String() string   { return "harvest" }
func (clearPots) String() string { return "clear the pots" }
func (letGo) String() string     { return "drop the finalizer" }

type verdict = decision.Of[lsv1alpha1.Phase, effect]

func decidePlant(f facts) verdict {
	if !f.job.Running() {
		return begin(f)
	}
	switch f.phase {
	case lsv1alpha1.PhaseInit:
		return verdict{Do: []effect{plantPots{}}, Next: lsv1alpha1.PhaseObjectsCreated, Why: because("Planting")}
	case lsv1alpha1.PhaseObjectsCreated:
		return verdict{Next: lsv1alpha1.PhaseProgressing, Why: because("Growing")}
	case lsv1alpha1.PhaseProgressing:
		return awaitGrowth(f)
	case lsv1alpha1.PhaseCompleting:
		return completePlant(f)
	case lsv1alpha1.PhaseInitDelete:
		return verdict{Do: []effect{clearPots{}}, Next: lsv1alpha1.PhaseDeleting, Why: because("Clearing")}
	default:
		return awaitClear(f)
	}
}

func begin(f facts) verdict {
	switch f.job.Open(f.request) {
	case run.OpenByGrant:
		return verdict{Do: []effect{grant{}}, Why: because("Requested")}
	case run.OpenByAdoption:
		return verdict{Next: lsv1alpha1.PhaseInit, Why: because("Granted")}
	}
	if f.deleting && !f.phase.IsDeletion() {
		return verdict{Next: lsv1alpha1.PhaseInitDelete, Why: because("Deleted")}
	}
	return verdict{Wait: true, Why: because("Idle")}
}

func awaitGrowth(f facts) verdict {
	for _, name := range slices.Sorted(maps.Keys(f.pots)) {
		if !f.pots[name].grown {
			return verdict{Wait: true, Why: decision.Reason{Code: "WaitingForGrowth", Message: "pot " + name}}
		}
	}
	return verdict{Next: lsv1alpha1.PhaseCompleting, Why: because("Grown")}
}

func completePlant(f facts) verdict {
	done := verdict{Next: lsv1alpha1.PhaseSucceeded, Wait: true, Why: because("Harvested")}
	if !f.basket {
		done.Do, done.ProveFirst = []effect{harvest{}}, true
	}
	return done
}

func awaitClear(f facts) verdict {
	for name, p := range f.pots {
		if p.exists {
			return verdict{Wait: true, Why: decision.Reason{Code: "WaitingForClearing", Message: "pot " + name}}
		}
	}
	return verdict{Do: []effect{letGo{}}, Wait: true, Why: because("Cleared")}
}

func because(code string) decision.Reason { return decision.Reason{Code: code, Message: code} }

func settlePlant(p *Plant, f facts, v verdict, err error) facts {
	status := &p.Status.RunStatus
	switch {
	case err == nil && v.Next == lsv1alpha1.PhaseInit:
		run.Adopt(status, f.request.GrantedID, v.Next, f.now)
		status.ObservedGeneration = p.Generation
	case err == nil && v.Next == lsv1alpha1.PhaseInitDelete:
		run.Begin(status, f.freshID, v.Next, f.now)
	}
	run.Settle(status, run.Outcome{Next: v.Next, Why: v.Why, Err: err, Deleting: f.deleting, Now: f.now})
	return f.with(func(f *facts) { f.phase, f.job = status.Phase, run.JobOf(status) })
}
