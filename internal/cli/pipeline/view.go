// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	pipelines "espalier.dev/api/pipelines/v1alpha1"
	"espalier.dev/internal/pipeline"
)

// view is a pipeline as people and programs see it.
type view struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// App is the application, as Kind/name.
	App       string         `json:"app"`
	Revision  string         `json:"revision,omitempty"`
	Run       *pipelines.Run `json:"run,omitempty"`
	Suspended bool           `json:"suspended,omitempty"`
	// Complete says that all environments are healthy at the revision.
	Complete     bool              `json:"complete"`
	Holds        []pipelines.Hold  `json:"holds,omitempty"`
	Environments []environmentView `json:"environments"`
}

// environmentView is one environment.
type environmentView struct {
	Name string `json:"name"`
	// Revision that all targets are healthy at; empty if there is none.
	Revision  string                     `json:"revision,omitempty"`
	Since     *metav1.Time               `json:"since,omitempty"`
	Targets   []pipelines.TargetStatus   `json:"targets"`
	Promotion *pipelines.PromotionStatus `json:"promotion,omitempty"`
	Holds     []pipelines.Hold           `json:"holds,omitempty"`
}

// viewOf asks the plan of the controller what is waited for now.
func viewOf(p *pipelines.Pipeline, now time.Time) view {
	var outlook pipeline.Outlook
	if len(p.Status.Environments) > 0 { // Otherwise nobody has looked at anything, and nothing can be concluded from that.
		outlook = pipeline.Plan(pipeline.Recall(p, now))
	}
	v := view{
		Namespace: p.Namespace, Name: p.Name, App: p.Spec.AppRef.Kind + "/" + p.Spec.AppRef.Name,
		Revision: p.Status.LatestRevision, Run: p.Status.Run, Suspended: p.Spec.Suspend, Environments: []environmentView{},
	}
	v.Holds = holdsOf(outlook.Holds, "")
	for _, environment := range p.Spec.Environments {
		v.Environments = append(v.Environments, viewOfEnvironment(p, environment, outlook))
	}
	v.Complete = v.Revision != "" && v.reached() == len(v.Environments)
	return v
}

func viewOfEnvironment(p *pipelines.Pipeline, environment pipelines.Environment, outlook pipeline.Outlook) environmentView {
	recorded := p.Status.Environments[environment.Name]
	e := environmentView{
		Name: environment.Name, Promotion: recorded.Promotion,
		Holds: holdsOf(outlook.Holds, environment.Name), Targets: []pipelines.TargetStatus{},
	}
	if recorded.Healthy != nil {
		e.Revision, e.Since = recorded.Healthy.Revision, &recorded.Healthy.Since
	}
	for i, target := range environment.Targets {
		if i < len(recorded.Targets) {
			e.Targets = append(e.Targets, recorded.Targets[i])
			continue
		}
		e.Targets = append(e.Targets, pipelines.TargetStatus{
			ClusterAppRef: pipelines.ClusterAppReference{AppReference: p.Spec.AppRef, ClusterRef: target.ClusterRef},
			Namespace:     target.Namespace, Error: "not checked yet",
		})
	}
	return e
}

func holdsOf(holds []pipelines.Hold, environment string) []pipelines.Hold {
	return slices.DeleteFunc(slices.Clone(holds), func(h pipelines.Hold) bool { return h.Environment != environment })
}

// reached is how many environments are healthy at the revision.
func (v view) reached() int {
	count := 0
	for _, e := range v.Environments {
		if e.Revision == v.Revision && v.Revision != "" {
			count++
		}
	}
	return count
}

// allHolds are those of the pipeline and of its environments, in their order.
func (v view) allHolds() []pipelines.Hold {
	holds := slices.Clone(v.Holds)
	for _, e := range v.Environments {
		holds = append(holds, e.Holds...)
	}
	return holds
}

// ready is how many targets are healthy.
func (e environmentView) ready() int {
	count := 0
	for _, t := range e.Targets {
		if t.Ready {
			count++
		}
	}
	return count
}

// revisions are those that the targets run, in their order.
func (e environmentView) revisions() []string {
	var found []string
	for _, t := range e.Targets {
		if t.Revision != "" && !slices.Contains(found, t.Revision) {
			found = append(found, t.Revision)
		}
	}
	return found
}

// nameOf names a target.
func nameOf(t pipelines.TargetStatus) string {
	if t.ClusterAppRef.ClusterRef == nil {
		return t.Namespace
	}
	return fmt.Sprintf("%s on %s/%s", t.Namespace, t.ClusterAppRef.ClusterRef.Kind, t.ClusterAppRef.ClusterRef.Name)
}

// stateOf says how a target is.
func stateOf(t pipelines.TargetStatus) string {
	switch {
	case t.UnreadableSince != nil:
		return "not readable"
	case t.Ready:
		return "ready"
	}
	return "not ready"
}
