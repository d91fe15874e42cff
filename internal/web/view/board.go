// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	pipelinesv1alpha1 "espalier.dev/api/pipelines/v1alpha1"
	"espalier.dev/internal/explain"
	"espalier.dev/internal/objecttree"
	"espalier.dev/internal/pipeline"
	"espalier.dev/internal/steer"
)

// board is a pipeline with the current plan of its controller.
type board struct {
	scene  Scene
	forest *objecttree.Forest
	p      *pipelinesv1alpha1.Pipeline
	ref    Ref
	holds  []pipelinesv1alpha1.Hold
	// brief omits what only the page of the pipeline needs: what a person can do, and what that changes.
	brief bool
}

func newBoard(s Scene, forest *objecttree.Forest, p *pipelinesv1alpha1.Pipeline) *board {
	return &board{scene: s, forest: forest, p: p, ref: Ref{"Pipeline", p.Namespace, p.Name}, holds: holdsOf(s, p)}
}

// holdsOf returns the holds from the controller's plan. Until the targets have been read, nothing can be concluded.
func holdsOf(s Scene, p *pipelinesv1alpha1.Pipeline) []pipelinesv1alpha1.Hold {
	if len(p.Status.Environments) == 0 {
		return nil
	}
	holds := pipeline.Plan(pipeline.Recall(p, s.Now)).Holds
	for i, hold := range holds {
		holds[i].Since = beginOf(p, hold)
	}
	return holds
}

// beginOf returns when a hold started. One that the controller has not recorded yet would otherwise restart on each view.
func beginOf(p *pipelinesv1alpha1.Pipeline, hold pipelinesv1alpha1.Hold) metav1.Time {
	recorded := slices.ContainsFunc(p.Status.Holds, func(h pipelinesv1alpha1.Hold) bool {
		return h.Environment == hold.Environment && h.Reason == hold.Reason && h.Revision == hold.Revision
	})
	if recorded {
		return hold.Since
	}
	if promotion := p.Status.Environments[hold.Environment].Promotion; promotion != nil && promotion.Revision == hold.Revision {
		if promotion.StateTransitionTime != nil {
			return *promotion.StateTransitionTime
		}
		return promotion.StartTime
	}
	return metav1.Time{}
}

// holdsAt returns the holds of an environment; an empty name means the whole pipeline.
func (b *board) holdsAt(environment string) []pipelinesv1alpha1.Hold {
	return slices.DeleteFunc(slices.Clone(b.holds), func(h pipelinesv1alpha1.Hold) bool { return h.Environment != environment })
}

// behind returns the number of environments after one, which do not get what is held there.
func (b *board) behind(environment string) int {
	for i, e := range b.p.Spec.Environments {
		if e.Name == environment {
			return len(b.p.Spec.Environments) - 1 - i
		}
	}
	return len(b.p.Spec.Environments)
}

func (b *board) row() PipelineRow {
	environments := b.environments()
	return PipelineRow{
		Ref: b.ref, Status: b.status(environments), Latest: b.p.Status.LatestRevision, Moving: b.moving(environments), Environments: environments,
	}
}

// moving reports whether a revision is under way.
func (b *board) moving(environments []Environment) bool {
	return slices.ContainsFunc(environments, func(e Environment) bool { return e.Coming != "" }) ||
		b.p.Status.Run != nil && b.p.Status.Run.CompletionTime == nil
}

// status returns the gravest hold, or else the progress of the revisions.
func (b *board) status(environments []Environment) Status {
	if b.p.DeletionTimestamp != nil {
		return Status{Tone: Going, Word: "Deleting", Since: timeOf(b.p.DeletionTimestamp.Time)}
	}
	if hold, held := b.gravest(); held {
		return b.statusOfHold(hold)
	}
	switch run := b.p.Status.Run; {
	case len(b.p.Status.Environments) == 0:
		return Status{Tone: NotYet, Word: "Pending", Message: "the targets have not been checked yet"}
	case b.moving(environments):
		return Status{Tone: Works, Word: "Promoting"}
	case run != nil && run.CompletionTime != nil:
		return Status{Tone: Done, Word: string(pipelinesv1alpha1.PromotionComplete), Since: timeOf(run.CompletionTime.Time)}
	}
	return Status{Tone: Done, Word: string(pipelinesv1alpha1.PromotionComplete)}
}

func (b *board) statusOfHold(hold pipelinesv1alpha1.Hold) Status {
	return Status{
		Tone: tonesOfHolds[hold.Reason], Word: string(hold.Reason), Since: timeOf(hold.Since.Time), Message: hold.Message,
		Reference: b.referenceOf(hold),
	}
}

func (b *board) referenceOf(hold pipelinesv1alpha1.Hold) string {
	return explain.ReferenceOfHold(b.p, hold.Environment, hold.Reason)
}

func (b *board) gravest() (pipelinesv1alpha1.Hold, bool) {
	if len(b.holds) == 0 {
		return pipelinesv1alpha1.Hold{}, false
	}
	return slices.MinFunc(b.holds, func(x, y pipelinesv1alpha1.Hold) int {
		return cmp.Compare(graveness[tonesOfHolds[x.Reason]], graveness[tonesOfHolds[y.Reason]])
	}), true
}

func (b *board) environments() []Environment {
	all := make([]Environment, 0, len(b.p.Spec.Environments))
	for i := range b.p.Spec.Environments {
		e := b.environment(i)
		if i > 0 {
			b.arrive(i, all[i-1], &e)
		}
		all = append(all, e)
	}
	return all
}

// environment returns a card without what leads to it.
func (b *board) environment(i int) Environment {
	spec := b.p.Spec.Environments[i]
	recorded := b.p.Status.Environments[spec.Name]
	e := Environment{Name: spec.Name, Targets: []TargetCell{}, Gates: []Gate{}, Actions: []Action{}}
	for at, target := range spec.Targets {
		status := pipelinesv1alpha1.TargetStatus{
			ClusterAppRef: pipelinesv1alpha1.ClusterAppReference{AppReference: b.p.Spec.AppRef, ClusterRef: target.ClusterRef},
			Namespace:     target.Namespace,
		}
		seen := at < len(recorded.Targets)
		if seen {
			status = recorded.Targets[at]
		}
		cell := b.cell(status, seen)
		e.Targets = append(e.Targets, cell)
		e.Progress.add(cell)
	}
	e.Revision, e.Since = revisionOf(e.Targets, recorded)
	e.Status = b.statusOfEnvironment(spec.Name, e, recorded)
	return e
}

func (p *Progress) add(cell TargetCell) {
	p.All++
	switch cell.Status.Tone {
	case Done:
		p.Done++
	case Failed, GoingFailed:
		p.Failed++
	case Works, Going:
		p.Running++
	default:
		p.Waiting++
	}
}

// cell returns one target. If the application is an installation of this cluster, its state is more informative than that it is not ready.
func (b *board) cell(status pipelinesv1alpha1.TargetStatus, seen bool) TargetCell {
	cell := TargetCell{Namespace: status.Namespace, Revision: status.Revision, Ready: status.Ready}
	if c := status.ClusterAppRef.ClusterRef; c != nil {
		cell.Cluster = c.Name
	}
	switch node := b.installationOf(status); {
	case !seen:
		cell.Status = Status{Tone: NotYet, Word: "Pending", Message: "not checked yet"}
	case status.UnreadableSince != nil:
		word := cmp.Or(status.Reason, pipelinesv1alpha1.ReasonTargetNotReadable)
		cell.Status = Status{
			Tone: Unknown, Word: word, Since: timeOf(status.UnreadableSince.Time), Message: status.Error, Reference: explain.ReferenceTo(word),
		}
	case status.NeverDeployed:
		cell.Status = Status{Tone: NotYet, Word: string(pipelinesv1alpha1.HoldNeverDeployed), Message: status.Message}
	case status.Ready:
		cell.Status = Status{Tone: Done, Word: "Ready"}
	case node != nil && node.State() != objecttree.Succeeded:
		cell.Status = statusOf(node, node.Explain())
		cell.Status.Message = cmp.Or(status.Message, cell.Status.Message)
	default:
		cell.Status = Status{Tone: Works, Word: "NotReady", Message: status.Message}
	}
	return cell
}

// installationOf returns the application of a target, if it is an installation of this cluster that the reader may see.
func (b *board) installationOf(status pipelinesv1alpha1.TargetStatus) *objecttree.Node {
	app := status.ClusterAppRef
	if app.ClusterRef != nil || app.Kind != string(objecttree.Installation) || !strings.HasPrefix(app.APIVersion, lsv1alpha1.GroupName+"/") {
		return nil
	}
	return b.forest.Installation(status.Namespace, app.Name)
}

// revisionOf returns the revision that all targets run, or else the one at which they were last healthy.
func revisionOf(cells []TargetCell, recorded pipelinesv1alpha1.EnvironmentStatus) (string, *time.Time) {
	if recorded.Healthy != nil {
		return recorded.Healthy.Revision, timeOf(recorded.Healthy.Since.Time)
	}
	if len(cells) > 0 && cells[0].Revision != "" &&
		!slices.ContainsFunc(cells, func(c TargetCell) bool { return c.Revision != cells[0].Revision }) {
		return cells[0].Revision, nil
	}
	if recorded.Settled != nil {
		return recorded.Settled.Revision, timeOf(recorded.Settled.Time.Time)
	}
	return "", nil
}

// statusOfEnvironment returns the state of the targets; the gates show what a promotion waits for.
func (b *board) statusOfEnvironment(name string, e Environment, recorded pipelinesv1alpha1.EnvironmentStatus) Status {
	for _, hold := range b.holdsAt(name) {
		if hold.Reason == pipelinesv1alpha1.HoldStalled || hold.Reason == pipelinesv1alpha1.HoldRolledBack {
			return b.statusOfHold(hold)
		}
	}
	worst := worstCell(e.Targets)
	switch {
	case len(e.Targets) == 0:
		return Status{Tone: NotYet, Word: string(pipelinesv1alpha1.HoldNoTargets), Message: "environment " + name + " has no targets"}
	case worst.Status.Tone == Failed || worst.Status.Tone == GoingFailed:
		return Status{
			Tone: Failed, Word: "Failing", Since: worst.Status.Since, Message: worst.Status.Message, Reference: worst.Status.Reference,
		}
	case worst.Status.Tone == Unknown:
		return worst.Status
	case recorded.Healthy != nil:
		return Status{Tone: Done, Word: "Healthy", Since: timeOf(recorded.Healthy.Since.Time)}
	case worst.Status.Tone == Done:
		return Status{Tone: Works, Word: string(pipelinesv1alpha1.HoldRollingOut), Message: "the targets run different revisions"}
	case worst.Status.Word == "NotReady":
		return Status{Tone: Works, Word: string(pipelinesv1alpha1.HoldRollingOut), Message: worst.Status.Message}
	}
	return worst.Status
}

func worstCell(cells []TargetCell) TargetCell {
	if len(cells) == 0 {
		return TargetCell{}
	}
	return slices.MinFunc(cells, func(a, b TargetCell) int { return cmp.Compare(graveness[a.Status.Tone], graveness[b.Status.Tone]) })
}

// arrive adds the revision on its way to an environment, and the gates that it must pass.
func (b *board) arrive(i int, before Environment, e *Environment) {
	recorded := b.p.Status.Environments[e.Name]
	e.Coming = b.coming(e, before, recorded.Promotion)
	if p := recorded.Promotion; p != nil && p.Revision == e.Coming {
		e.Request = requestOf(p)
	}
	g := b.gatesTo(i, before, *e)
	e.Gates = g.all()
	if b.brief {
		return
	}
	if p := recorded.Promotion; p != nil && p.State == pipelinesv1alpha1.PromotionUnapproved {
		e.Approval = b.consent(i, *e, p, g)
	}
	e.Actions = b.actionsAt(e.Name, recorded.Promotion)
}

// requestOf returns the pull request of a promotion, if it already has one.
func requestOf(p *pipelinesv1alpha1.PromotionStatus) *Request {
	pr := p.PullRequest
	if pr == nil || pr.Number == 0 && pr.URL == "" {
		return nil
	}
	request := &Request{Number: pr.Number, State: strings.ToLower(string(pr.State)), By: pr.ClosedBy}
	if isLink(pr.URL) {
		request.URL = pr.URL
	}
	if pr.ClosedTime != nil {
		request.Time = timeOf(pr.ClosedTime.Time)
	}
	request.Checks = checksOf(pr)
	return request
}

// checksOf returns the checks of an open pull request, without those of an older commit.
func checksOf(pr *pipelinesv1alpha1.PullRequestStatus) *RequestChecks {
	c := pr.Checks
	if c == nil || c.State == "" || c.Commit != pr.HeadCommit || pr.State != pipelinesv1alpha1.PullRequestOpen {
		return nil
	}
	checks := &RequestChecks{
		State: strings.ToLower(string(c.State)), Total: int(c.Total), Passed: int(c.Passed), Failed: int(c.Failed), Running: int(c.Running),
		FailedNames: append([]string{}, c.FailedNames...),
	}
	if isLink(c.URL) {
		checks.URL = c.URL
	}
	return checks
}

// isLink reports whether a browser opens a URL, instead of running it.
func isLink(url string) bool {
	return strings.HasPrefix(url, "https://") || strings.HasPrefix(url, "http://")
}

// over reports whether nothing more comes of a promotion in this state.
func over(state pipelinesv1alpha1.PromotionState) bool {
	return state == pipelinesv1alpha1.PromotionComplete || state == pipelinesv1alpha1.PromotionSuperseded
}

// coming returns the revision that is on its way to an environment, or kept from it.
func (b *board) coming(e *Environment, before Environment, p *pipelinesv1alpha1.PromotionStatus) string {
	if p != nil && !over(p.State) {
		return p.Revision
	}
	for _, hold := range b.holdsAt(e.Name) {
		if hold.Revision != "" && hold.Revision != e.Revision {
			return hold.Revision
		}
	}
	if before.Revision != "" && before.Revision != e.Revision {
		return before.Revision
	}
	return ""
}

// verdict describes the pipeline in one sentence.
func (b *board) verdict(environments []Environment) string {
	if b.p.DeletionTimestamp != nil {
		return b.ref.Name + " is being deleted."
	}
	if hold, held := b.gravest(); held {
		return b.verdictOfHold(hold)
	}
	latest := b.p.Status.LatestRevision
	switch {
	case len(b.p.Status.Environments) == 0:
		return "The targets of " + b.ref.Name + " have not been checked yet."
	case b.moving(environments):
		for _, e := range environments {
			if e.Coming != "" {
				return fmt.Sprintf("%s is being promoted to %s.", e.Coming, e.Name)
			}
		}
		return latest + " is in progress."
	case latest == "":
		return "No revision in progress."
	}
	return latest + " has reached all environments."
}

// verdicts describe holds, with placeholders for the revision and the environment.
var verdicts = map[pipelinesv1alpha1.HoldReason]string{
	pipelinesv1alpha1.HoldSuspended:             "The pipeline is suspended.",
	pipelinesv1alpha1.HoldUnsettled:             "The targets of ENVIRONMENT are not all healthy at one revision.",
	pipelinesv1alpha1.HoldTargetNotReadable:     "Targets of ENVIRONMENT cannot be read.",
	pipelinesv1alpha1.HoldRollingOut:            "REVISION is rolling out in ENVIRONMENT.",
	pipelinesv1alpha1.HoldSoaking:               "REVISION is soaking before its promotion to ENVIRONMENT.",
	pipelinesv1alpha1.HoldOutsideWindow:         "REVISION waits for the window of ENVIRONMENT.",
	pipelinesv1alpha1.HoldWaitingForMerge:       "The pull request of REVISION for ENVIRONMENT must be merged.",
	pipelinesv1alpha1.HoldRetrying:              "REVISION could not be promoted to ENVIRONMENT; retrying.",
	pipelinesv1alpha1.HoldFailed:                "REVISION could not be promoted to ENVIRONMENT.",
	pipelinesv1alpha1.HoldAbandoned:             "The pull request of REVISION for ENVIRONMENT was closed without merging.",
	pipelinesv1alpha1.HoldRejected:              "REVISION was rejected for ENVIRONMENT.",
	pipelinesv1alpha1.HoldRolledBack:            "REVISION was rolled back in ENVIRONMENT.",
	pipelinesv1alpha1.HoldStalled:               "REVISION has not arrived in ENVIRONMENT.",
	pipelinesv1alpha1.HoldNoStrategy:            "ENVIRONMENT has no promotion strategy.",
	pipelinesv1alpha1.HoldNoTargets:             "ENVIRONMENT has no targets.",
	pipelinesv1alpha1.HoldHeld:                  "ENVIRONMENT is held.",
	pipelinesv1alpha1.HoldReferenceNotPermitted: "ENVIRONMENT refers to another namespace, which does not permit it.",
	pipelinesv1alpha1.HoldNeverDeployed:         "ENVIRONMENT waits for its first deployment.",
	pipelinesv1alpha1.HoldInvalid:               "The spec of the pipeline is invalid.",
	pipelinesv1alpha1.HoldWithdrawing:           "An older pull request for ENVIRONMENT is being closed.",
	pipelinesv1alpha1.HoldLeftOpen:              "A pull request for ENVIRONMENT was left open.",
	pipelinesv1alpha1.HoldLookingUp:             "Looking up the pull requests for ENVIRONMENT.",
}

func (b *board) verdictOfHold(hold pipelinesv1alpha1.Hold) string {
	revision, environment := cmp.Or(hold.Revision, "A revision"), cmp.Or(hold.Environment, "all environments")
	format, known := verdicts[hold.Reason]
	switch {
	case hold.Reason == pipelinesv1alpha1.HoldWaitingForApproval && b.mayDecide():
		return fmt.Sprintf("%s waits for your approval for %s.", revision, environment)
	case hold.Reason == pipelinesv1alpha1.HoldWaitingForApproval:
		return fmt.Sprintf("%s waits for approval for %s.", revision, environment)
	case !known:
		return firstLine(hold.Message)
	}
	return strings.NewReplacer("REVISION", revision, "ENVIRONMENT", environment).Replace(format)
}

// holdRight returns the right to hold promotions: holds are annotations of the pipeline, like decisions.
func (b *board) holdRight() right {
	return right{"patch", pipelinesv1alpha1.GroupName, "pipelines", b.ref.Namespace}
}

// decisionRight returns the additional right to decide on promotions.
func (b *board) decisionRight() right {
	return right{steer.DecisionVerb, pipelinesv1alpha1.GroupName, "pipelines", b.ref.Namespace}
}

func (b *board) mayDecide() bool { return b.decisionDenied() == "" }

// decisionDenied says why the reader may not decide on promotions; empty if they may.
func (b *board) decisionDenied() string {
	return cmp.Or(b.scene.denied(b.decisionRight()), b.scene.denied(b.holdRight()))
}
