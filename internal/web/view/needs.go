// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	pipelinesv1alpha1 "espalier.dev/api/pipelines/v1alpha1"
	"espalier.dev/internal/dataflow"
	"espalier.dev/internal/explain"
	"espalier.dev/internal/objecttree"
	"espalier.dev/internal/run"
)

// The labels of buttons on needs.
const (
	buttonWhy    = "See why"
	buttonReview = "Review changes"
)

// needs collects what needs a person to continue: each cause once, however many objects wait for it.
type needs struct {
	causes *causes
	byID   map[string]Need
}

func newNeeds(c *causes) *needs { return &needs{causes: c, byID: map[string]Need{}} }

// ofInstallation adds what keeps a tree from being done, if a user must act. If no job was requested, or none since the last change of
// the spec, that is a choice and no need, unless others wait for it. The same applies to a suspension.
func (n *needs) ofInstallation(top *objecttree.Node, chains []explain.Chain) {
	for _, chain := range chains {
		cause := chain.Cause()
		idle := cause.Node.State() == objecttree.NotStarted || cause.Node.State() == objecttree.Succeeded || cause.Reason == run.ReasonSuspended
		if idle && len(chain) == 1 || !explain.AdviceFor(chain).Somebody {
			continue
		}
		id := idOf(refOf(cause.Node))
		if _, known := n.byID[id]; known {
			continue
		}
		subject := cause.Node.Top()
		status := sinceOf(cause)
		n.byID[id] = Need{
			ID: id, Tone: needTone(cause), Subject: refOf(subject), Cause: refOf(cause.Node), Title: n.causes.title(cause),
			Reason: cause.Reason, Message: explain.Message(cause), HoldsUp: len(n.causes.relations.heldUp(cause.Node)), Since: status.Since,
			Command: command(subject.Namespace(), "why", subject.Name()), Button: buttonWhy,
		}
	}
}

// needTone returns the tone of a failure, or of something that waits: a need is one or the other.
func needTone(cause explain.Link) Tone {
	switch tone := toneOf(cause.Node, cause.Reason); tone {
	case Failed, GoingFailed, Stopped:
		return tone
	default:
		return Waits
	}
}

// title describes a cause in a few words.
func (c *causes) title(cause explain.Link) string {
	holder := holderOf(cause.Node)
	name := titleOf(holder)
	place := ""
	if top := holder.Top(); top != holder {
		place = " in " + top.Name()
	}
	switch tone := toneOf(cause.Node, cause.Reason); {
	case tone == GoingFailed:
		return name + " could not be deleted" + place
	case tone == Stopped:
		return name + stopped(cause) + place
	case tone == Failed:
		return name + " failed" + place
	case cause.Node.State() == objecttree.NotStarted:
		return name + " has not started" + place + ", and others wait for it"
	case cause.Reason == lsv1alpha1.ReasonNoTargetFound:
		return name + " waits for a target that does not exist" + place
	case cause.Reason == lsv1alpha1.ReasonWaitingForImports || cause.Reason == dataflow.ReasonImportNotFound:
		return name + " waits for " + missingImports(holder, cause) + place
	case strings.HasPrefix(cause.Reason, "Target"):
		return fmt.Sprintf("%s cannot access target %s%s", name, cause.Node.Target(), place)
	case cause.Node.Top().Object.GetDeletionTimestamp() != nil:
		return name + " cannot be deleted" + place
	}
	return name + " is blocked" + place
}

// stopped says how an object was stopped.
func stopped(cause explain.Link) string {
	if cause.Reason == run.ReasonSuspended {
		return " is suspended"
	}
	return " was stopped"
}

// missingImports names the imports that are missing according to a message.
func missingImports(node *objecttree.Node, cause explain.Link) string {
	object, ok := node.Installation()
	if !ok {
		return "an import"
	}
	var names []string
	for _, data := range object.Spec.Imports.Data {
		if saidMissing(cause.Explanation, data.Name) {
			names = append(names, data.Name)
		}
	}
	for _, target := range object.Spec.Imports.Targets {
		if saidMissing(cause.Explanation, target.Name) {
			names = append(names, target.Name)
		}
	}
	switch len(names) {
	case 0:
		return "an import"
	case 1:
		return "import " + names[0]
	}
	return "imports " + strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}

// saidMissing reports whether an explanation is about a missing import, in the words of package dataflow.
func saidMissing(e objecttree.Explanation, name string) bool {
	waits := e.Reason == dataflow.ReasonImportNotFound || e.Reason == lsv1alpha1.ReasonWaitingForImports
	return waits && strings.Contains(e.Message, fmt.Sprintf("import %q: ", name))
}

// needsOfHolds are the holds that end only when a user acts. Deliberate decisions, such as rejecting a revision or holding an
// environment, are not included.
var needsOfHolds = map[pipelinesv1alpha1.HoldReason]string{
	pipelinesv1alpha1.HoldWaitingForApproval:    "Approve PIPELINE REVISION for ENVIRONMENT",
	pipelinesv1alpha1.HoldWaitingForMerge:       "Merge the pull request of PIPELINE REVISION for ENVIRONMENT",
	pipelinesv1alpha1.HoldFailed:                "PIPELINE REVISION could not be promoted to ENVIRONMENT",
	pipelinesv1alpha1.HoldStalled:               "PIPELINE REVISION has not arrived in ENVIRONMENT",
	pipelinesv1alpha1.HoldRolledBack:            "PIPELINE REVISION was rolled back in ENVIRONMENT",
	pipelinesv1alpha1.HoldTargetNotReadable:     "PIPELINE cannot be read in ENVIRONMENT",
	pipelinesv1alpha1.HoldReferenceNotPermitted: "PIPELINE may not refer to targets of ENVIRONMENT",
	pipelinesv1alpha1.HoldNeverDeployed:         "PIPELINE has never been deployed to ENVIRONMENT",
	pipelinesv1alpha1.HoldNoTargets:             "ENVIRONMENT of PIPELINE has no targets",
	pipelinesv1alpha1.HoldInvalid:               "PIPELINE has an invalid spec at ENVIRONMENT",
	pipelinesv1alpha1.HoldLeftOpen:              "A pull request of PIPELINE for ENVIRONMENT was left open",
}

// ofPipeline adds what holds revisions until a user acts.
func (n *needs) ofPipeline(b *board) {
	for _, hold := range b.holds {
		format, needed := needsOfHolds[hold.Reason]
		if !needed {
			continue
		}
		need := Need{
			ID:   strings.Join([]string{idOf(b.ref), hold.Environment, string(hold.Reason)}, "/"),
			Tone: tonesOfHolds[hold.Reason], Subject: b.ref, Cause: b.ref,
			Title:  needTitle(format, b.ref.Name, hold),
			Reason: string(hold.Reason), Message: hold.Message, HoldsUp: b.behind(hold.Environment), Since: timeOf(hold.Since.Time),
			Command: command(b.ref.Namespace, "pipeline", "why", b.ref.Name), Button: buttonWhy,
		}
		if hold.Reason == pipelinesv1alpha1.HoldWaitingForApproval || hold.Reason == pipelinesv1alpha1.HoldWaitingForMerge {
			need.Button = buttonReview
		}
		n.byID[need.ID] = need
	}
}

func needTitle(format, name string, hold pipelinesv1alpha1.Hold) string {
	if hold.Revision == "" {
		format = strings.Replace(format, "REVISION ", "", 1)
	}
	environment := cmp.Or(hold.Environment, "all environments")
	return strings.NewReplacer("PIPELINE", name, "REVISION", hold.Revision, "ENVIRONMENT", environment).Replace(format)
}

// sorted returns the needs: failures, then what waits for a decision, then what waits for something that is not provided; among these the
// widest effect first, then the oldest.
func (n *needs) sorted() []Need {
	return orEmpty(slices.SortedFunc(maps.Values(n.byID), func(a, b Need) int {
		return cmp.Or(
			cmp.Compare(needClass(a.Tone), needClass(b.Tone)), cmp.Compare(b.HoldsUp, a.HoldsUp), compareTimes(a.Since, b.Since),
			cmp.Compare(a.ID, b.ID),
		)
	}))
}

func needClass(tone Tone) int {
	switch tone {
	case Failed, GoingFailed, Stopped:
		return 0
	case Person:
		return 1
	default:
		return 2
	}
}

// compareTimes sorts unknown times last.
func compareTimes(a, b *time.Time) int {
	switch {
	case a == nil && b == nil:
		return 0
	case a == nil:
		return 1
	case b == nil:
		return -1
	}
	return a.Compare(*b)
}
