// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"cmp"
	"fmt"
	"slices"

	pipelinesv1alpha1 "espalier.dev/api/pipelines/v1alpha1"
	"espalier.dev/internal/objecttree"
)

// Preview is the effect of an action: in words, and the affected objects, as far as the reader may see them.
type Preview struct {
	Text    string `json:"text"`
	Objects []Ref  `json:"objects"`
	// Promotion has details of decisions about a promotion.
	Promotion *PromotionPreview `json:"promotion,omitempty"`
}

// Wish is an action under consideration. Environment and Revision are for pipelines.
type Wish struct {
	Action      string
	Ref         Ref
	Environment string
	Revision    string
}

// NewPreview returns the effect of an action.
func NewPreview(s Scene, w Wish) Preview {
	if w.Ref.Kind == "Pipeline" {
		return s.previewPromotion(w)
	}
	node := s.forest().Installation(w.Ref.Namespace, w.Ref.Name)
	if node == nil {
		return Preview{Text: fmt.Sprintf("Nothing that belongs to %s is visible here.", w.Ref.Name), Objects: []Ref{w.Ref}}
	}
	switch w.Action {
	case "interrupt", "abort":
		return previewStop(node, w.Action)
	case "delete":
		return previewDeletion(node)
	}
	return previewStart(node, w.Action)
}

func everything(*objecttree.Node) bool { return true }

func running(node *objecttree.Node) bool { return node.State() == objecttree.Running }

// below returns the wanted objects of a tree, and how many of them are deploy items.
func below(node *objecttree.Node, wanted func(*objecttree.Node) bool) (refs []Ref, items int) {
	refs = []Ref{}
	node.Walk(func(n *objecttree.Node) {
		if !wanted(n) {
			return
		}
		refs = append(refs, refOf(n))
		if n.Kind == objecttree.DeployItem {
			items++
		}
	})
	return refs, items
}

func previewDeletion(node *objecttree.Node) Preview {
	refs, items := below(node, everything)
	text := "Deletes %s and what is below it (%d in all), and uninstalls what was deployed (deploy items: %d)."
	if LeavesDeployed(node) {
		text = "Deletes %s and what is below it (%d in all). What was deployed stays where it is (deploy items: %d)."
	}
	return Preview{Text: fmt.Sprintf(text, node.Name(), len(refs), items), Objects: refs}
}

func previewStop(node *objecttree.Node, action string) Preview {
	refs, items := below(node, running)
	text := fmt.Sprintf("Ends the work on %s, of which %s. What was deployed stays as it is.",
		counted(len(refs), "object", "objects"), counted(items, "is a deploy item", "are deploy items"))
	if len(refs) == 0 {
		text = "Nothing is running."
	} else if action == "interrupt" {
		text += " They count as failed."
	}
	return Preview{Text: text, Objects: refs}
}

func previewStart(node *objecttree.Node, action string) Preview {
	refs, items := below(node, everything)
	text := fmt.Sprintf("A job goes through %s and %s below it, and deploys %s.",
		node.Name(), counted(len(refs)-1, "object", "objects"), counted(items, "deploy item", "deploy items"))
	switch active, _ := below(node, running); {
	case action == "force":
		text = fmt.Sprintf("Updates %s and %s below it at once, whatever they depend on.",
			node.Name(), counted(len(refs)-1, "object", "objects"))
	case node.Continuous():
		text = fmt.Sprintf("Retries %s and %s below it.", node.Name(), counted(len(refs)-1, "object", "objects"))
	case len(active) > 0:
		text += fmt.Sprintf(" It starts when the running job, which works on %s, has finished.", counted(len(active), "object", "objects"))
	}
	return Preview{Text: text, Objects: refs}
}

// previewPromotion is for decisions about an environment of a pipeline.
func (s Scene) previewPromotion(w Wish) Preview {
	preview := Preview{Objects: []Ref{w.Ref}}
	found := slices.IndexFunc(s.Pipelines, func(p *pipelinesv1alpha1.Pipeline) bool {
		return p.Namespace == w.Ref.Namespace && p.Name == w.Ref.Name
	})
	if found < 0 {
		preview.Text = fmt.Sprintf("Nothing that belongs to %s is visible here.", w.Ref.Name)
		return preview
	}
	targets := promotedTo(s.Pipelines[found], w.Environment)
	preview.Promotion = newBoard(s, s.forest(), s.Pipelines[found]).decision(w)
	revision, environment := cmp.Or(w.Revision, "the revision"), cmp.Or(w.Environment, "all environments")
	switch w.Action {
	case "promote", "approve", "retry":
		preview.Objects = append(preview.Objects, targets...)
		preview.Text = fmt.Sprintf("Promotes %s to %s of %s.", revision, counted(len(targets), "target", "targets"), environment)
		if w.Action == "promote" {
			preview.Text += " Its gates are skipped."
		}
	case "reject":
		preview.Text = fmt.Sprintf("%s keeps what it runs: %s is not promoted.", environment, revision)
	case "hold":
		preview.Text = fmt.Sprintf("No more promotions to %s until it is released. What runs there stays.", environment)
	case "release":
		preview.Text = fmt.Sprintf("Promotions to %s resume.", environment)
	}
	return preview
}

// promotedTo returns the applications or clusters of an environment, or of all if it has no name.
func promotedTo(p *pipelinesv1alpha1.Pipeline, environment string) []Ref {
	var refs []Ref
	for _, e := range p.Spec.Environments {
		if environment != "" && e.Name != environment {
			continue
		}
		for _, target := range e.Targets {
			ref := Ref{Kind: p.Spec.AppRef.Kind, Namespace: target.Namespace, Name: p.Spec.AppRef.Name}
			if c := target.ClusterRef; c != nil {
				ref = Ref{Kind: string(c.Kind), Namespace: cmp.Or(c.Namespace, p.Namespace), Name: c.Name}
			}
			refs = append(refs, ref)
		}
	}
	return refs
}
