// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package why

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"espalier.dev/internal/cli/connect"
	"espalier.dev/internal/cli/display"
	"espalier.dev/internal/explain"
	"espalier.dev/internal/objecttree"
)

// Answer is why an object is not done.
type Answer struct {
	node   *objecttree.Node
	chains []explain.Chain
	access *connect.Access
}

// maxOthers is how many further causes are told to people.
const maxOthers = 5

// Lines are the answer for people.
func (a Answer) Lines(p display.Printer) []string {
	if len(a.chains) == 0 {
		return []string{a.node.Title() + " has succeeded: there is nothing to explain."}
	}
	first := a.chains[0]
	lines := []string{display.Clean(a.headline(p, first)), ""}
	for _, line := range p.Indented(2).Align(chainTable(p, first)) {
		lines = append(lines, "  "+line)
	}
	for i, line := range display.Details(first.Cause().Message) {
		if i == 0 {
			lines = append(lines, "")
		}
		lines = append(lines, "  "+line)
	}
	lines = append(lines, a.others(p)...)
	advice := explain.AdviceFor(first)
	lines = append(lines, "", "Next:")
	if advice.Hint != "" {
		lines = append(lines, "  # "+display.Clean(advice.Hint))
	}
	for _, command := range a.access.Commands(a.node.Namespace(), advice) {
		lines = append(lines, "  "+command)
	}
	if place := explain.Reference(first.Cause()); place != "" {
		lines = append(lines, "", "See "+place)
	}
	return lines
}

// headline is the whole answer in one line.
func (a Answer) headline(p display.Printer, chain explain.Chain) string {
	text := fmt.Sprintf("%s %s", a.node.Title(), verbs[a.node.State()])
	switch link := chain.Cause(); {
	case a.node.State() == objecttree.Succeeded:
		return text + " " + display.Summary(explain.Message(link))
	case len(chain) == 1:
		return fmt.Sprintf("%s%s: %s", text, since(p, link), display.Summary(explain.Message(link)))
	}
	return fmt.Sprintf("%s because of %s%s", text, display.Summary(explain.Sentence(chain)), since(p, chain.Cause()))
}

var verbs = map[objecttree.State]string{
	objecttree.NotStarted: "has not started", objecttree.Requested: "has not started", objecttree.Pending: "has not started",
	objecttree.Running: "is not done", objecttree.Failed: "has failed", objecttree.Succeeded: "has succeeded, but",
}

func since(p display.Printer, link explain.Link) string {
	at := link.Since
	if at.IsZero() {
		at = link.Node.Since()
	}
	if at.IsZero() {
		return ""
	}
	return fmt.Sprintf(" (for %s)", p.Age(at))
}

func chainTable(p display.Printer, chain explain.Chain) display.Table {
	table := display.Table{Header: []string{"OBJECT", "PHASE", "SINCE", "REASON", "MESSAGE"}}
	for _, link := range chain {
		table.Rows = append(table.Rows, []display.Cell{
			{Text: link.Node.Title()}, display.PhaseCell(link.Node), {Text: p.Age(link.Node.Since()), Style: display.Faint},
			display.OrDash(link.Reason), {Text: display.Summary(link.Message)},
		})
	}
	return table
}

// others names the causes beside the first.
func (a Answer) others(p display.Printer) []string {
	var lines []string
	for _, chain := range a.chains[1:min(len(a.chains), maxOthers+1)] {
		lines = append(lines, "  "+display.Summary(explain.Sentence(chain))+since(p, chain.Cause()))
	}
	if len(lines) == 0 {
		return nil
	}
	if left := len(a.chains) - 1 - maxOthers; left > 0 {
		lines = append(lines, fmt.Sprintf("  ... and %d more", left))
	}
	return append([]string{"", "Also:"}, lines...)
}

// culprits are the objects that are the causes, each once.
func (a Answer) culprits() []*objecttree.Node {
	var nodes []*objecttree.Node
	for _, chain := range a.chains {
		if node := chain.Cause().Node; !slices.Contains(nodes, node) {
			nodes = append(nodes, node)
		}
	}
	return nodes
}

// report is the answer for programs.
type report struct {
	Subject *objecttree.View `json:"subject"`
	// Causes are empty if there is nothing to explain. The first is the most telling.
	Causes []reportedCause `json:"causes"`
}

type reportedCause struct {
	// Somebody says that nothing more happens until somebody acts.
	Somebody bool   `json:"somebody"`
	Hint     string `json:"hint,omitempty"`
	// Chain leads from the subject to the cause.
	Chain []reportedLink `json:"chain"`
	Next  []string       `json:"next,omitempty"`
	// Reference is the place in the documentation that explains the cause.
	Reference string `json:"reference,omitempty"`
}

type reportedLink struct {
	Kind      objecttree.Kind  `json:"kind"`
	Namespace string           `json:"namespace"`
	Name      string           `json:"name"`
	State     objecttree.State `json:"state"`
	Phase     string           `json:"phase,omitempty"`
	Reason    string           `json:"reason,omitempty"`
	Message   string           `json:"message,omitempty"`
	Since     *metav1.Time     `json:"since,omitempty"`
}

func (a Answer) report() report {
	r := report{Subject: a.node.View(), Causes: []reportedCause{}}
	for _, chain := range a.chains {
		advice := explain.AdviceFor(chain)
		told := reportedCause{
			Somebody: advice.Somebody, Hint: advice.Hint, Next: a.access.Commands(a.node.Namespace(), advice),
			Reference: explain.Reference(chain.Cause()),
		}
		for _, link := range chain {
			told.Chain = append(told.Chain, reportLink(link))
		}
		r.Causes = append(r.Causes, told)
	}
	return r
}

func reportLink(link explain.Link) reportedLink {
	told := reportedLink{
		Kind: link.Node.Kind, Namespace: link.Node.Namespace(), Name: link.Node.Name(), State: link.Node.State(),
		Phase: string(link.Node.Status.Phase), Reason: link.Reason, Message: link.Message, Since: link.Node.Status.PhaseTransitionTime,
	}
	if !link.Since.IsZero() {
		told.Since = timeOrNil(link.Since)
	}
	return told
}
