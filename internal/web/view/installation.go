// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"fmt"

	"espalier.dev/internal/explain"
	"espalier.dev/internal/masking"
	"espalier.dev/internal/objecttree"
	"espalier.dev/internal/run"
)

// NewInstallation returns the page of an installation and everything below it.
func NewInstallation(s Scene, namespace, name string) Installation {
	page := Installation{
		Now: s.Now.UTC(), Ref: Ref{"Installation", namespace, name}, Rows: []Row{}, Past: []PastJob{}, Actions: []Action{},
		Events: []Event{},
		Graph:  Graph{Nodes: []Node{}, Edges: []Edge{}},
		Hidden: s.hidden(namespace, listedInstallations, listedExecutions, listedDeployItems, listedDataObjects, listedTargets, listedEvents),
	}
	forest := s.forest()
	node := forest.Installation(namespace, name)
	if node == nil {
		page.Verdict = fmt.Sprintf("There is no installation %s in namespace %s that you may see.", name, namespace)
		page.Status = Status{Tone: Unknown, Word: "NotFound"}
		return page
	}
	t := newTree(s, forest, node)
	page.describe(t)
	page.Rows = t.rows()
	page.Graph = t.graph(page.Rows)
	page.Actions = s.actions(node)
	about := map[Ref]bool{}
	for _, row := range page.Rows {
		about[row.Ref] = true
	}
	page.Events = s.events(about)
	return page
}

// describe fills in the data of the installation itself.
func (page *Installation) describe(t *tree) {
	node := t.node
	page.Exists = true
	page.Status, page.Progress, page.Flow = statusOf(node, t.known(node)), progressOf(node), flowOf(node)
	page.Component, page.Version = componentOf(node)
	page.Blueprint = blueprintOf(node)
	page.Verdict = t.verdict(page.Progress)
	page.Why = t.why()
	page.Job, page.Past = jobOf(node), pastOf(node)
	if parent := objecttree.ParentOf(node.Object); parent != "" {
		page.Parent = &Ref{"Installation", node.Namespace(), parent}
	}
}

// blueprintOf says where the blueprint comes from.
func blueprintOf(node *objecttree.Node) string {
	object, ok := node.Installation()
	if !ok {
		return ""
	}
	switch b := object.Spec.Blueprint; {
	case b.Reference != nil:
		return b.Reference.ResourceName
	case b.OCI != nil:
		return b.OCI.Reference
	case b.Git != nil:
		return withoutUser(b.Git.URL)
	case b.Inline != nil:
		return "inline"
	}
	return ""
}

// withoutUser returns a URL of a spec as people see it: its user may be a token.
func withoutUser(text string) string {
	bare, _ := masking.WithoutUser(text)
	return bare
}

// tree is an installation with what is below it and why it is not done.
type tree struct {
	scene     Scene
	node      *objecttree.Node
	relations *relations
	causes    *causes
	chains    []explain.Chain
	// explained is what is known about the objects on the way to causes.
	explained map[*objecttree.Node]objecttree.Explanation
	values    *values
	// items are the deploy items by the name that their execution gives them.
	items map[*objecttree.Node]map[string][]*objecttree.Node
	cuts  map[*objecttree.Node]bool
}

func newTree(s Scene, forest *objecttree.Forest, node *objecttree.Node) *tree {
	r := newRelations(forest)
	t := &tree{
		scene: s, node: node, relations: r, causes: newCauses(s, r), explained: map[*objecttree.Node]objecttree.Explanation{},
		values: newValues(s, r), items: map[*objecttree.Node]map[string][]*objecttree.Node{}, cuts: map[*objecttree.Node]bool{},
	}
	t.chains = t.causes.of(node)
	for _, chain := range t.chains {
		for _, link := range chain {
			t.explained[link.Node] = link.Explanation
		}
	}
	return t
}

// known returns what holds an object up: what its controller would say if it is on the way to a cause, or else what its status says.
func (t *tree) known(node *objecttree.Node) objecttree.Explanation {
	if known, ok := t.explained[node]; ok {
		return known
	}
	return node.Explain()
}

// verdict describes the installation in one sentence.
func (t *tree) verdict(progress Progress) string {
	name := t.node.Name()
	if len(t.chains) == 0 {
		return name + " is done."
	}
	cause := t.chains[0].Cause()
	if t.node.HeldBack() && cause.Reason == run.ReasonSuspended && t.node.State() != objecttree.Succeeded {
		return name + " is " + t.node.Suspension().String() + "."
	}
	switch own := cause.Node == t.node; t.node.State() {
	case objecttree.Succeeded:
		return name + " is done, but " + firstLine(explain.Message(cause)) + "."
	case objecttree.NotStarted:
		return "No job requested for " + name + " yet."
	case objecttree.Requested:
		return name + " has a requested job that has not started."
	case objecttree.Pending:
		return name + " waits until the job reaches it."
	case objecttree.Failed:
		return t.verdictOfFailed(cause, own)
	default:
		return t.verdictOfRunning(cause, own, progress)
	}
}

func (t *tree) verdictOfFailed(cause explain.Link, own bool) string {
	text := t.node.Name() + " failed"
	if t.node.DeletionFailed() {
		text = t.node.Name() + " could not be deleted"
	}
	if holder := holderOf(cause.Node); !own && holder != t.node {
		text += " because of " + titleOf(holder)
	} else if !own {
		text += " because of deploy item " + titleOf(cause.Node)
	}
	return text + "."
}

func (t *tree) verdictOfRunning(cause explain.Link, own bool, progress Progress) string {
	name, verb := t.node.Name(), "cannot finish"
	if t.node.Status.Phase.IsDeletion() {
		verb = "cannot go"
	}
	holder := holderOf(cause.Node)
	switch somebody := explain.AdviceFor(t.chains[0]).Somebody; {
	case cause.Node.State() == objecttree.Failed && holder != t.node:
		return fmt.Sprintf("%s %s: %s failed.", name, verb, titleOf(holder))
	case cause.Node.State() == objecttree.Failed:
		return fmt.Sprintf("%s %s: deploy item %s failed.", name, verb, titleOf(cause.Node))
	case somebody && (own || holder == t.node):
		return t.causes.title(cause) + "."
	case somebody:
		return fmt.Sprintf("%s %s: %s.", name, verb, t.causes.title(cause))
	case t.node.Status.Phase.IsDeletion():
		return name + " is being deleted."
	case progress.All > 0:
		return fmt.Sprintf("%s is at work: %s.", name, progress.told())
	}
	return name + " is at work."
}

// verbs describe the state of an object, as in `espalier why`.
var verbs = map[objecttree.State]string{
	objecttree.NotStarted: "has not started", objecttree.Requested: "has not started", objecttree.Pending: "has not started",
	objecttree.Running: "is not done", objecttree.Failed: "has failed", objecttree.Succeeded: "has succeeded, but",
}

// maxOthers is the maximum number of further causes, as in `espalier why`.
const maxOthers = 5

// why returns the answer of `espalier why`; nil if there is nothing to explain.
func (t *tree) why() *Why {
	if len(t.chains) == 0 {
		return nil
	}
	first := t.chains[0]
	cause := first.Cause()
	advice := explain.AdviceFor(first)
	w := &Why{
		Tone: toneOf(cause.Node, cause.Reason), Answer: t.answer(first), Quote: explain.Message(cause), QuotedBy: speaker(cause.Node),
		Reference: explain.Reference(cause), Chain: []Link{}, Next: advice.Hint, HoldsUp: []Ref{}, Others: []string{},
	}
	w.Commands = append([]string{command(t.node.Namespace(), "why", t.node.Name())}, commandsOf(t.node.Namespace(), advice)...)
	for _, link := range first {
		w.Chain = append(w.Chain, Link{Ref: refOf(link.Node), Status: sinceOf(link)})
	}
	for _, waiting := range t.relations.heldUp(cause.Node) {
		w.HoldsUp = append(w.HoldsUp, refOf(waiting))
	}
	for _, chain := range t.chains[1:min(len(t.chains), maxOthers+1)] {
		w.Others = append(w.Others, firstLine(explain.Sentence(chain)))
	}
	if left := len(t.chains) - 1 - maxOthers; left > 0 {
		w.Others = append(w.Others, fmt.Sprintf("and %d more", left))
	}
	return w
}

// answer returns the headline of `espalier why`, without its times, which pages compute themselves.
func (t *tree) answer(chain explain.Chain) string {
	text := t.node.Title() + " " + verbs[t.node.State()]
	switch link := chain.Cause(); {
	case t.node.State() == objecttree.Succeeded:
		return text + " " + firstLine(explain.Message(link))
	case len(chain) == 1:
		return text + ": " + firstLine(explain.Message(link))
	}
	return text + " because of " + firstLine(explain.Sentence(chain))
}

// speaker returns who reported what is known about an object.
func speaker(node *objecttree.Node) string {
	if item, ok := node.DeployItem(); ok && item.Status.Deployer.Name != "" {
		return "deployer " + item.Status.Deployer.Name
	}
	return node.Title()
}
