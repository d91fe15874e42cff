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

// Sample is the small kind on which the loop is proven. A request starts a job that creates one ConfigMap per part, waits
// until a worker has marked each as completed, and then creates exactly one result, by an effect that is not idempotent.
// Deleting a sample removes its parts.
type Sample struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              SampleSpec   `json:"spec"`
	Status            SampleStatus `json:"status,omitempty"`
}

// SampleSpec names the parts, and how creating them fails, if at all.
type SampleSpec struct {
	Parts []string `json:"parts,omitempty"`
	Fail  string   `json:"fail,omitempty"`
}

// SampleStatus is the status of every kind with runs.
type SampleStatus struct {
	lsv1alpha1.RunStatus `json:",inline"`
}

// SampleList is a list of samples.
type SampleList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata"`
	Items           []Sample `json:"items"`
}

// DeepCopyObject implements runtime.Object.
func (p *Sample) DeepCopyObject() runtime.Object {
	c := *p
	c.ObjectMeta = *p.ObjectMeta.DeepCopy()
	c.Spec.Parts = slices.Clone(p.Spec.Parts)
	c.Status.RunStatus = *p.Status.RunStatus.DeepCopy()
	return &c
}

// DeepCopyObject implements runtime.Object.
func (l *SampleList) DeepCopyObject() runtime.Object {
	c := *l
	c.Items = make([]Sample, len(l.Items))
	for i := range l.Items {
		c.Items[i] = *l.Items[i].DeepCopyObject().(*Sample)
	}
	return &c
}

var sampleGroup = schema.GroupVersion{Group: "test.espalier.dev", Version: "v1"}

func addSample(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(sampleGroup, &Sample{}, &SampleList{})
	metav1.AddToGroupVersion(scheme, sampleGroup)
	return nil
}

func sampleCRD() *apiextensionsv1.CustomResourceDefinition {
	free := true
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "samples." + sampleGroup.Group},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: sampleGroup.Group,
			Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "samples", Singular: "sample", Kind: "Sample", ListKind: "SampleList"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name:    sampleGroup.Version,
				Served:  true,
				Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
					Type:                   "object",
					XPreserveUnknownFields: &free,
				}},
				Subresources: &apiextensionsv1.CustomResourceSubresources{Status: &apiextensionsv1.CustomResourceSubresourceStatus{}},
			}},
		},
	}
}

// facts contains everything that a decision about a sample depends on.
type facts struct {
	phase    lsv1alpha1.Phase
	job      run.Job
	request  run.Request
	deleting bool
	freshID  string
	now      time.Time
	// parts maps each wanted part, and each existing one, to what is known of it.
	parts  map[string]part
	result bool
}

type part struct{ exists, completed bool }

func (f facts) with(change func(*facts)) facts {
	f.parts = maps.Clone(f.parts)
	change(&f)
	return f
}

type effect interface{ fmt.Stringer }

type (
	grant        struct{}
	createParts  struct{}
	createResult struct{}
	clearPots    struct{}
	letGo        struct{}
)

func (grant) String() string        { return "grant the request" }
func (createParts) String() string  { return "sample the parts" }
func (createResult) String() string { return "createResult" }
func (clearPots) String() string    { return "clear the parts" }
func (letGo) String() string        { return "drop the finalizer" }

type verdict = decision.Of[lsv1alpha1.Phase, effect]

func decideSample(f facts) verdict {
	if !f.job.Running() {
		return begin(f)
	}
	switch f.phase {
	case lsv1alpha1.PhaseInit:
		return verdict{Do: []effect{createParts{}}, Next: lsv1alpha1.PhaseObjectsCreated, Why: because("Creating")}
	case lsv1alpha1.PhaseObjectsCreated:
		return verdict{Next: lsv1alpha1.PhaseProgressing, Why: because("Waiting")}
	case lsv1alpha1.PhaseProgressing:
		return awaitParts(f)
	case lsv1alpha1.PhaseCompleting:
		return completeSample(f)
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

func awaitParts(f facts) verdict {
	for _, name := range slices.Sorted(maps.Keys(f.parts)) {
		if !f.parts[name].completed {
			return verdict{Wait: true, Why: decision.Reason{Code: "WaitingForParts", Message: "part " + name}}
		}
	}
	return verdict{Next: lsv1alpha1.PhaseCompleting, Why: because("Completed")}
}

func completeSample(f facts) verdict {
	done := verdict{Next: lsv1alpha1.PhaseSucceeded, Wait: true, Why: because("Completed")}
	if !f.result {
		done.Do, done.ForceStatusWrite = []effect{createResult{}}, true
	}
	return done
}

func awaitClear(f facts) verdict {
	for name, p := range f.parts {
		if p.exists {
			return verdict{Wait: true, Why: decision.Reason{Code: "WaitingForClearing", Message: "part " + name}}
		}
	}
	return verdict{Do: []effect{letGo{}}, Wait: true, Why: because("Cleared")}
}

func because(code string) decision.Reason { return decision.Reason{Code: code, Message: code} }

func settleSample(p *Sample, f facts, v verdict, err error) facts {
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
