// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package reference

import (
	"errors"
	"fmt"
	"go/ast"
	"go/types"
	"slices"
	"strings"
)

const eventsHeading = `# Events

Every Event that the controllers record; ` + "`kubectl events`" + ` shows them. Repeated events are counted. This page is generated from the code:
` + "`go test ./internal/reference -update`" + `.

| Reason | Type | About | |
|---|---|---|---|
`

// event is an event that the controllers record.
type event struct{ reason, kind, about, text string }

const (
	normal  = "Normal"
	warning = "Warning"
	either  = "Normal or Warning"
)

// eventSources are the places in the code that record events or news of pipelines, by file and the expression of the reason.
var eventSources = map[string][]event{
	"internal/loop/announce.go string(last.To)": {{
		reason: "(the phase)", kind: either, about: "Installation, Execution, TargetSync",
		text: "The object reached that phase, such as `Progressing`, `Succeeded` or `Failed`; the note says through which phases, and why. A Warning if it " +
			"failed, or if a person must act.",
	}},
	`deployer/repair.go "Repaired"`: {{
		reason: "Repaired", kind: normal, about: "DeployItem", text: "An object in the target was changed or deleted; the deployer restored it.",
	}},
	`deployer/repair.go "RepairFailed"`: {{
		reason: "RepairFailed", kind: warning, about: "DeployItem", text: "Such a repair failed; the deployer retries.",
	}},
	`deployer/calls.go "TakenOver"`: {{
		reason: "TakenOver", kind: warning, about: "DeployItem", text: "The deploy item took over an object that another one had deployed.",
	}},
	"deployer/calls.go reason": {{
		reason: "(the reason of the error)", kind: warning, about: "DeployItem",
		text: "The deploy item is blocked: a target or registry is unreachable, rejects the credentials, or lacks the requested content. " +
			"[errors.md](errors.md) explains the reasons. Recorded when the problem starts; the deployer retries.",
	}},
	"deployer/calls.go d.Why.Code": {{
		reason: "NoTargetFound", kind: warning, about: "DeployItem", text: "The deploy item waits for a Target that does not exist.",
	}},
	"internal/controller/deployitems/watchdog.go watchdog.CodeNamespaceEnds": {{
		reason: "NamespaceTerminating", kind: warning, about: "Namespace",
		text: "A deploy item is deleted with its namespace, and what it deployed may stay.",
	}},
	`internal/controller/installations/losses.go "Restored"`: {{
		reason: "Restored", kind: normal, about: "Installation", text: "An object below was deleted or lost its labels or its owner; it has been restored.",
	}},
	`internal/controller/installations/losses.go "NotRestored"`: {{
		reason: "NotRestored", kind: warning, about: "Installation",
		text: "An object below was deleted or lost its labels or its owner, and cannot be restored as the last job created it: start a new job.",
	}},
	"internal/controller/installations/warnings.go string(lsv1alpha1.ConditionBlueprintWarnings)": {{
		reason: "BlueprintWarnings", kind: warning, about: "Installation", text: "The blueprint contains something that has no effect.",
	}},
	"internal/controller/pipelines/act.go n.Reason": nil, // The news below.
	"internal/controller/pipelines/act.go pipeline.ReasonLeftOpen": {{
		reason: "PullRequestLeftOpen", kind: warning, about: "Namespace",
		text: "A pipeline is deleted with its namespace, and a pull request could not be closed and is left to you.",
	}},
	"internal/controller/pipelines/notification.go eventReason": {{
		reason: "Promote", kind: normal, about: "Pipeline", text: "A promotion by notification: receivers act on it.",
	}},
	`internal/pipeline/arrival.go "RunStarted"`: {{
		reason: "RunStarted", kind: normal, about: "Pipeline", text: "A new revision is healthy in the first environment.",
	}},
	"internal/pipeline/arrival.go NewsRunCompleted": {{
		reason: "RunCompleted", kind: normal, about: "Pipeline", text: "A revision is healthy in all environments.",
	}},
	`internal/pipeline/ledger.go "Promotion" + string(p.State)`: {{
		reason: "Promotion (and its state)", kind: either, about: "Pipeline",
		text: "A promotion reached a state, as in `PromotionSucceeded`; the states are listed below. A Warning if it failed, stalled, or was " +
			"abandoned, rejected or rolled back.",
	}},
	"internal/pipeline/targets.go problemNews(now.Reason)": {
		{reason: "GetAppError", kind: warning, about: "Pipeline", text: "The application on a target cannot be read."},
		{reason: "GetClusterError", kind: warning, about: "Pipeline", text: "The cluster of a target cannot be used."},
		{reason: "RefNotPermitted", kind: warning, about: "Pipeline", text: "Another namespace does not permit the reference; see [errors](errors.md#refnotpermitted)."},
		{reason: "KindNotPermitted", kind: warning, about: "Pipeline", text: "Pipelines may not follow that kind; see [errors](errors.md#kindnotpermitted)."},
	},
	"internal/pipeline/withdrawal.go reason": {
		{reason: "PullRequestLeftOpen", kind: warning, about: "Pipeline", text: "A pull request could not be closed and is left to you."},
		{reason: "BranchLeft", kind: warning, about: "Pipeline", text: "The branch of a pull request could not be deleted."},
	},
	`internal/pipeline/requests.go "RequestRefused"`: {
		{reason: "RequestAccepted", kind: normal, about: "Pipeline", text: "A request to approve, reject or retry was accepted."},
		{reason: "RequestRefused", kind: warning, about: "Pipeline", text: "A request to approve, reject or retry was rejected; the note says why."},
	},
}

// eventsPage returns the page about events.
func (p *program) eventsPage() (string, error) {
	if err := p.checkEvents(); err != nil {
		return "", err
	}
	var page strings.Builder
	page.WriteString(eventsHeading)
	var all []event
	for _, events := range eventSources {
		all = append(all, events...)
	}
	slices.SortFunc(all, func(a, b event) int { return strings.Compare(a.about+a.reason, b.about+b.reason) })
	for _, e := range all {
		reason := "`" + e.reason + "`"
		if strings.HasPrefix(e.reason, "(") || strings.Contains(e.reason, " ") {
			reason = e.reason
		}
		fmt.Fprintf(&page, "| %s | %s | %s | %s |\n", reason, e.kind, e.about, cell(e.text))
	}
	page.WriteString("\n## States of promotions\n\n| State | |\n|---|---|\n")
	for _, c := range p.constants() {
		if c.of == "PromotionState" {
			fmt.Fprintf(&page, "| `%s` | %s |\n", c.value, cell(p.described(c)))
		}
	}
	return page.String(), nil
}

// checkEvents compares the places that record events with those on the page.
func (p *program) checkEvents() error {
	found := p.eventPlaces()
	var problems []error
	spoken := p.literals()
	for place := range found {
		if _, known := eventSources[place]; !known {
			problems = append(problems, fmt.Errorf("which event does %s record? Say so in eventSources of internal/reference", place))
		}
	}
	for place, events := range eventSources {
		if !found[place] {
			problems = append(problems, fmt.Errorf("%s records no event any more: remove it from eventSources in internal/reference", place))
		}
		for _, e := range events {
			if camelCase.MatchString(e.reason) && !spoken[e.reason] {
				problems = append(problems, fmt.Errorf("no code knows the reason %s of an event", e.reason))
			}
		}
	}
	slices.SortFunc(problems, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return errors.Join(problems...)
}

// eventPlaces returns the calls of recorders, and the events and news in literals.
func (p *program) eventPlaces() map[string]bool {
	found := map[string]bool{}
	for _, file := range p.files {
		add := func(reason ast.Expr) { found[file.path+" "+types.ExprString(reason)] = true }
		ast.Inspect(file.syntax, func(node ast.Node) bool {
			switch node := node.(type) {
			case *ast.CallExpr:
				if selector, ok := node.Fun.(*ast.SelectorExpr); ok && selector.Sel.Name == "Eventf" && len(node.Args) > 5 {
					add(node.Args[3])
				}
			case *ast.CompositeLit:
				p.addNews(file, node, add)
			}
			return true
		})
	}
	return found
}

// addNews finds the reasons in literals of corev1.Event and pipeline.News, including those in lists.
func (p *program) addNews(file codeFile, literal *ast.CompositeLit, add func(ast.Expr)) {
	of := types.ExprString(literal.Type)
	if literal.Type == nil || !slices.Contains([]string{"corev1.Event", "News", "[]News"}, of) {
		return
	}
	if of == "News" && file.folder != "internal/pipeline" {
		return
	}
	inner := []*ast.CompositeLit{literal}
	for _, element := range literal.Elts {
		if nested, ok := element.(*ast.CompositeLit); ok {
			inner = append(inner, nested)
		}
	}
	for _, each := range inner {
		for _, reason := range valuesOf(each, "Reason") {
			add(reason)
		}
	}
}
