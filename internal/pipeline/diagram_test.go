// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	pipelines "espalier.dev/api/pipelines/v1alpha1"
	"espalier.dev/internal/testkit/diagram"
)

var update = flag.Bool("update", false, "write the diagrams and tables into the documentation")

const page = "../../docs/pipelines.md"

// stateOrder is the usual order of a promotion's states.
var stateOrder = []lsv1alpha1.Phase{
	"Unapproved", "Unattempted", "Attempting", "Created", "Succeeded", "Complete", "Failed", "Abandoned", "Rejected", "Stalled", "RolledBack", "Superseded",
}

// The diagrams in the documentation show what happens in all small worlds, and what people can request. They omit what the page says in
// words, because it holds for all states: an unfinished promotion is superseded by another revision, and completes when the revision
// arrives by itself.
func TestTheDiagramsShowWhatIsDecided(t *testing.T) {
	for title, test := range map[string]struct {
		promotion *pipelines.Promotion
		main      []lsv1alpha1.Phase
	}{
		"states of promotions by pull request": {
			pullRequests(), []lsv1alpha1.Phase{diagram.Nowhere, "Unattempted", "Attempting", "Created", "Succeeded", "Complete"},
		},
		"states of promotions by notification": {
			notifications(), []lsv1alpha1.Phase{diagram.Nowhere, "Unattempted", "Attempting", "Succeeded", "Complete"},
		},
		"states of promotions that need approval": {
			manual(notifications()),
			[]lsv1alpha1.Phase{diagram.Nowhere, "Unapproved", "Unattempted", "Attempting", "Succeeded", "Complete"},
		},
	} {
		t.Run(title, func(t *testing.T) {
			d := diagram.Diagram{Page: page, Title: title, Order: stateOrder, Main: test.main}
			draw(&d, arrows(t, test.promotion))
			d.Check(t, *update)
		})
	}
	if diff := cmp.Diff(arrows(t, notifications()), arrows(t, installations()), cmp.AllowUnexported(arrow{})); diff != "" {
		t.Errorf("one diagram is not enough for notifications and installations: %s", diff)
	}
}

type arrow struct {
	from, to pipelines.PromotionState
	label    string
}

// draw draws the arrows that start at reachable states.
func draw(d *diagram.Diagram, all map[arrow]bool) {
	reached := map[pipelines.PromotionState]bool{"": true}
	for range promotionStates {
		for a := range all {
			reached[a.to] = reached[a.to] || reached[a.from]
		}
	}
	for a := range all {
		if reached[a.from] {
			d.Step(lsv1alpha1.Phase(a.from), lsv1alpha1.Phase(a.to), a.label)
		}
	}
}

// arrows returns the transitions of promotions in small worlds, and on request.
func arrows(t *testing.T, promotion *pipelines.Promotion) map[arrow]bool {
	all := map[arrow]bool{}
	note := func(s *scene, label string) {
		for _, news := range s.announced {
			byItself := news.To == pipelines.PromotionComplete && news.From != pipelines.PromotionSucceeded &&
				news.From != pipelines.PromotionStalled
			superseded := news.To == pipelines.PromotionSuperseded || news.From == pipelines.PromotionSuperseded
			if news.To != "" && news.To != news.From && !byItself && !superseded {
				all[arrow{news.From, news.To, label}] = true
			}
		}
	}
	choices := strategyChoices
	defer func() { strategyChoices = choices }()
	strategyChoices = []func() *pipelines.Promotion{promotion.DeepCopy}
	worlds(t, extent{sizes: []int{1, 1}, states: 3, strategies: 1}, func(s *scene) {
		later := *s
		later.Status, later.Attempts = *s.Status.DeepCopy(), maps.Clone(s.Attempts)
		s.decide()
		note(s, "")
		later.pass(2 * DefaultRolloutDeadline).decide()
		note(&later, "")
	})
	for _, state := range promotionStates {
		for _, action := range []pipelines.RequestAction{pipelines.RequestApprove, pipelines.RequestReject, pipelines.RequestPromote, pipelines.RequestRetry} {
			s := newScene(t, promotion, []Target{at("2")}, []Target{at("1")})
			s.Status.Run, s.Spec.Suspend = &pipelines.Run{Number: 2, Revision: "2"}, true
			recorded(s, "b", "2", state)
			s.ask(action, "b", "2").decide()
			s.announced = slices.DeleteFunc(s.announced, func(n News) bool { return n.Reason != "RequestAccepted" })
			note(s, string(action))
		}
	}
	return all
}

// The table of holds in the documentation lists all of them, with the advice of the command line and the user interface.
func TestTheTableOfHoldsIsComplete(t *testing.T) {
	begin, end := "<!-- generated: holds -->\n", "<!-- end -->\n"
	var table strings.Builder
	table.WriteString("| Reason | What ends it | Ends automatically |\n|---|---|---|\n")
	for _, reason := range holdOrder {
		itself := "yes"
		switch {
		case stuck[reason]:
			itself = "no: `Stalled`"
		case byPeople[reason]:
			itself = "no"
		}
		fmt.Fprintf(&table, "| `%s` | %s | %s |\n", reason, Remedy(reason), itself)
	}
	if len(holdOrder) != len(remedies) {
		t.Errorf("%d holds are listed, %d have a remedy", len(holdOrder), len(remedies))
	}
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(text), begin)
	shown, after, closed := strings.Cut(rest, end)
	if !found || !closed {
		t.Fatalf("%s has no place for the table of holds", page)
	}
	if shown == table.String() {
		return
	}
	if !*update {
		t.Fatalf("%s shows other holds; run go test ./internal/pipeline -update:\n%s", page, table.String())
	}
	if err := os.WriteFile(page, []byte(before+begin+table.String()+end+after), 0o644); err != nil {
		t.Fatal(err)
	}
}

var byPeople = map[pipelines.HoldReason]bool{
	pipelines.HoldSuspended: true, pipelines.HoldHeld: true, pipelines.HoldWaitingForApproval: true, pipelines.HoldWaitingForMerge: true,
	pipelines.HoldNoStrategy: true, pipelines.HoldNoTargets: true, pipelines.HoldLeftOpen: true, pipelines.HoldReferenceNotPermitted: true,
	pipelines.HoldNeverDeployed: true,
}

var holdOrder = []pipelines.HoldReason{
	pipelines.HoldUnsettled, pipelines.HoldTargetNotReadable, pipelines.HoldRollingOut, pipelines.HoldSoaking, pipelines.HoldOutsideWindow,
	pipelines.HoldRetrying, pipelines.HoldWithdrawing, pipelines.HoldLookingUp, pipelines.HoldSuspended, pipelines.HoldHeld,
	pipelines.HoldWaitingForApproval, pipelines.HoldWaitingForMerge, pipelines.HoldReferenceNotPermitted, pipelines.HoldNeverDeployed,
	pipelines.HoldNoStrategy, pipelines.HoldNoTargets, pipelines.HoldLeftOpen, pipelines.HoldFailed,
	pipelines.HoldAbandoned, pipelines.HoldRejected, pipelines.HoldRolledBack, pipelines.HoldStalled, pipelines.HoldInvalid,
}
