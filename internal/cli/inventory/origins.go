// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	pipelines "espalier.dev/api/pipelines/v1alpha1"
	"espalier.dev/internal/cli/display"
	"espalier.dev/internal/objecttree"
)

// origin is the environment of a Pipeline that something in the chain belongs to.
type origin struct {
	Pipeline    nameRef `json:"pipeline"`
	Environment string  `json:"environment"`
	// App is the application that the Pipeline promotes.
	App nameRef `json:"app"`
	// Kind is that of the application.
	Kind string `json:"kind"`
	// Revision is the one that the application has now.
	Revision string `json:"revision"`
	// Promotion is the one that has set the revision; nil if no promotion has.
	Promotion *pipelines.PromotionStatus `json:"promotion,omitempty"`
	// First says that the environment is the first one, to which nothing is promoted.
	First bool `json:"first,omitempty"`
}

// subject is an application whose revision somebody has set.
type subject struct {
	application
	// revision is the one that the application asks for; empty if only the Pipeline knows.
	revision string
}

// subjectsOf are the installations of a chain, and what Flux has applied of them.
func subjectsOf(chain []*objecttree.Node) []subject {
	var subjects []subject
	for _, node := range chain {
		installation, ok := node.Installation()
		if !ok {
			continue
		}
		revision, err := installation.Spec.Revision()
		if err != nil {
			revision = "" // A field that holds no revision is the business of whoever promotes it.
		}
		subjects = append(subjects, subject{
			application{lsv1alpha1.GroupName, string(objecttree.Installation), client.ObjectKeyFromObject(installation)}, revision,
		})
		subjects = append(subjects, fluxSubjects(installation)...)
	}
	return subjects
}

func fluxSubjects(o metav1.Object) []subject {
	var subjects []subject
	for _, app := range fluxOn(o) {
		subjects = append(subjects, subject{application: app})
	}
	return subjects
}

// originsOf finds the environments that applications of this cluster belong to. Only targets that the controller has read count: a
// Pipeline may name an application that is none of its business.
func originsOf(all []pipelines.Pipeline, subjects []subject) []origin {
	origins := []origin{}
	for i := range all {
		for _, s := range subjects {
			if isApp(&all[i], s.application) {
				origins = append(origins, s.originsIn(&all[i])...)
			}
		}
	}
	return origins
}

func isApp(p *pipelines.Pipeline, app application) bool {
	reference := p.Spec.AppRef
	return reference.Name == app.Name && reference.Kind == app.kind &&
		schema.FromAPIVersionAndKind(reference.APIVersion, reference.Kind).Group == app.group
}

func (s subject) originsIn(p *pipelines.Pipeline) []origin {
	var origins []origin
	for i, environment := range p.Spec.Environments {
		status := p.Status.Environments[environment.Name]
		at := slices.IndexFunc(status.Targets, func(t pipelines.TargetStatus) bool {
			return t.ClusterAppRef.ClusterRef == nil && t.Namespace == s.Namespace && t.Revision != ""
		})
		if at < 0 {
			continue
		}
		found := origin{
			Pipeline: nameRef{p.Namespace, p.Name}, Environment: environment.Name, First: i == 0,
			App: nameRef{s.Namespace, s.Name}, Kind: s.kind, Revision: s.revision,
		}
		if found.Revision == "" {
			found.Revision = status.Targets[at].Revision
		}
		found.Promotion = promotionTo(status, found.Revision)
		origins = append(origins, found)
	}
	return origins
}

// writes are the states of promotions that have set the revision.
var writes = []pipelines.PromotionState{
	pipelines.PromotionAttempting, pipelines.PromotionSucceeded, pipelines.PromotionComplete, pipelines.PromotionStalled,
}

// promotionTo is the newest promotion that has brought a revision into an environment.
func promotionTo(status pipelines.EnvironmentStatus, revision string) *pipelines.PromotionStatus {
	records := status.History
	if status.Promotion != nil {
		records = append([]pipelines.PromotionStatus{*status.Promotion}, records...)
	}
	for _, record := range records {
		if (record.Revision == revision || record.Value == revision && revision != "") && slices.Contains(writes, record.State) {
			return withoutCredentials(&record)
		}
	}
	return nil
}

// withoutCredentials is a promotion whose addresses name no users and passwords.
func withoutCredentials(promotion *pipelines.PromotionStatus) *pipelines.PromotionStatus {
	shown := promotion.DeepCopy()
	if request := shown.PullRequest; request != nil {
		request.URL = withoutUser(request.URL)
		if request.Repository != nil {
			request.Repository.URL = withoutUser(request.Repository.URL)
		}
	}
	return shown
}

// sentence tells where the revision comes from.
func (o origin) sentence(p display.Printer) string {
	text := fmt.Sprintf("%s/%s is at revision %s in environment %s of pipeline %s/%s", o.Kind, o.App.Name, o.Revision, o.Environment,
		o.Pipeline.Namespace, o.Pipeline.Name)
	switch {
	case o.Promotion != nil:
		text += ": " + strings.Join(facts(p, o.Promotion), ", ")
	case o.First:
		text += ": it is the first environment, so no promotion has set the revision"
	default:
		text += ": no recorded promotion has set the revision"
	}
	return display.Clean(text)
}

// facts tell of a promotion: how it went, who decided and what was merged.
func facts(p display.Printer, promotion *pipelines.PromotionStatus) []string {
	told := []string{fmt.Sprintf("promotion of run %d (%s), %s", promotion.Run, promotion.Strategy, promotion.State)}
	if promotion.CompletionTime != nil {
		told[0] += fmt.Sprintf(" %s ago", p.Age(promotion.CompletionTime.Time))
	}
	if approval := promotion.Approval; approval != nil && approval.By != "" {
		told = append(told, strings.ToLower(string(approval.Decision))+" by "+approval.By)
	}
	if request := promotion.PullRequest; request != nil && request.URL != "" {
		told = append(told, "pull request "+request.URL)
		if request.ClosedBy != "" {
			told = append(told, strings.ToLower(string(request.State))+" by "+request.ClosedBy)
		}
	}
	return told
}
