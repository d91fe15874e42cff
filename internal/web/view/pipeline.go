// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"fmt"
	"slices"

	pipelinesv1alpha1 "espalier.dev/api/pipelines/v1alpha1"
	"espalier.dev/internal/pipeline"
)

// NewPipeline returns the page of a pipeline.
func NewPipeline(s Scene, namespace, name string) Pipeline {
	page := Pipeline{
		Now: s.Now.UTC(), Ref: Ref{"Pipeline", namespace, name}, Environments: []Environment{}, Lanes: []Lane{}, Actions: []Action{},
		Events: []Event{}, Hidden: s.hidden(namespace, listedPipelines, listedEvents),
	}
	at := slices.IndexFunc(s.Pipelines, func(p *pipelinesv1alpha1.Pipeline) bool { return p.Namespace == namespace && p.Name == name })
	if at < 0 {
		page.Verdict = fmt.Sprintf("There is no pipeline %s in namespace %s that you may see.", name, namespace)
		page.Status = Status{Tone: Unknown, Word: "NotFound"}
		return page
	}
	b := newBoard(s, s.forest(), s.Pipelines[at])
	page.Exists, page.Suspended = true, b.p.Spec.Suspend
	page.Environments = b.environments()
	page.Status, page.Verdict = b.status(page.Environments), b.verdict(page.Environments)
	page.Lanes = b.lanes()
	page.LeadTime = leadTime(page.Lanes, len(page.Environments))
	page.Actions = b.holdActions("")
	page.Events = s.events(map[Ref]bool{page.Ref: true})
	return page
}

// decision is a request that a person may make about a promotion.
type decision struct {
	id, label, explanation, confirm string
	danger                          bool
	try                             decide
}

// decide is the controller's function for a decision.
type decide func(*pipelinesv1alpha1.Pipeline, pipeline.Ask) (pipeline.Answer, error)

var decisions = []decision{
	{"approve", "Approve %s for %s", "Soak times and windows still hold it.", "Approve %s for %s?", false, pipeline.Approve},
	{"reject", "Reject %s for %s", "The revision does not get there without a retry.", "Reject %s for %s?", true, pipeline.Reject},
	{
		"promote", "Promote %s to %s now", "It counts as approval, and neither soak times nor windows hold it.",
		"Promote %s to %s now, without waiting for soak times and windows?", true, pipeline.PromoteNow,
	},
	{"retry", "Retry %s in %s", "It may need a separate approval.", "Retry %s in %s?", false, pipeline.Retry},
}

// actionsAt returns what a person can do about an environment. The controller's answer determines whether it makes sense.
func (b *board) actionsAt(environment string, p *pipelinesv1alpha1.PromotionStatus) []Action {
	actions := []Action{}
	for _, d := range decisions {
		actions = append(actions, b.action(environment, p, d))
	}
	return append(actions, b.holdActions(environment)...)
}

func (b *board) action(environment string, p *pipelinesv1alpha1.PromotionStatus, d decision) Action {
	revision := "nothing"
	arguments := []string{d.id, b.ref.Name, environment}
	if p != nil {
		revision = p.Revision
		arguments = append(arguments, "--revision", revision)
	}
	a := Action{
		ID: d.id, Label: fmt.Sprintf(d.label, revision, environment), Command: command(b.ref.Namespace, arguments...),
		Explanation: d.explanation, Confirm: fmt.Sprintf(d.confirm, revision, environment), Danger: d.danger,
		Denied: b.decisionDenied(),
	}
	if p == nil {
		a.Label = fmt.Sprintf(d.label, "a revision", environment)
		a.Unavailable = fmt.Sprintf("There is no promotion to environment %s.", environment)
		return a
	}
	ask := pipeline.Ask{Environment: environment, Revision: p.Revision, Run: p.Run, Time: b.scene.Now, Anyone: true}
	answer, err := d.try(b.p.DeepCopy(), ask)
	switch {
	case err != nil:
		a.Unavailable = err.Error()
	case answer.Already:
		a.Unavailable = answer.Message
	case b.p.DeletionTimestamp != nil:
		a.Unavailable = "The pipeline is being deleted."
	}
	return a
}

// holdActions returns the actions that hold and release an environment, or all of them.
func (b *board) holdActions(environment string) []Action {
	held := slices.ContainsFunc(pipeline.ReadHolds(b.p.Annotations), func(h pipeline.UserHold) bool { return h.Environment == environment })
	what, arguments := "all environments", []string{"hold", b.ref.Name}
	if environment != "" {
		what, arguments = environment, append(arguments, environment)
	}
	hold := Action{
		ID: "hold", Label: "Hold " + what, Command: command(b.ref.Namespace, arguments...), Denied: b.scene.denied(b.holdRight()),
		Explanation: "No new promotions until it is released. Open pull requests stay open.",
		Confirm:     "Hold promotions to " + what + " until they are released?",
	}
	release := Action{
		ID: "release", Label: "Release " + what, Command: command(b.ref.Namespace, append(arguments, "--release")...),
		Denied: b.scene.denied(b.holdRight()), Explanation: "Promotions resume.", Confirm: "Release promotions to " + what + "?",
	}
	if held {
		hold.Unavailable = "Promotions to " + what + " are already held."
	} else {
		release.Unavailable = "Promotions to " + what + " are not held."
	}
	return []Action{hold, release}
}
