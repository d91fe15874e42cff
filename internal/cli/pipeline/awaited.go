// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"

	pipelines "espalier.dev/api/pipelines/v1alpha1"
	"espalier.dev/internal/cli"
)

// Goals of a wait for a pipeline.
const (
	goalReached       = "reached"
	goalNeedsApproval = "needs-approval"
	goalNeedsMerge    = "needs-merge"
	goalReady         = "ready"
	goalDeleted       = "deleted"
)

// Goals are the values of the flag --for for pipelines, the default first.
var Goals = []string{goalReached, goalNeedsApproval, goalNeedsMerge, goalReady, goalDeleted}

// decisions are the goals that a promotion reaches when it waits for somebody: the hold, and the state that the controller has recorded
// by then. The plan alone may be ahead of the status, which decisions refer to.
var decisions = map[string]struct {
	reason pipelines.HoldReason
	state  pipelines.PromotionState
	what   string
}{
	goalNeedsApproval: {pipelines.HoldWaitingForApproval, pipelines.PromotionUnapproved, "approval"},
	goalNeedsMerge:    {pipelines.HoldWaitingForMerge, pipelines.PromotionCreated, "a merge"},
}

// Awaited is what a wait for a pipeline is for.
type Awaited struct {
	// Goal is one of Goals.
	Goal string
	// Environment and Revision narrow the goal; empty means all of them, or the current revision.
	Environment, Revision string
}

// Check finds mistakes before the wait begins.
func (a Awaited) Check() error {
	_, narrow := decisions[a.Goal]
	switch {
	case !slices.Contains(Goals, a.Goal):
		return fmt.Errorf("--for is %q: for pipelines it takes %s", a.Goal, strings.Join(Goals, ", "))
	case (a.Environment != "" || a.Revision != "") && a.Goal != goalReached && !narrow:
		return fmt.Errorf("--environment and --revision do not go together with --for=%s, which is about the whole pipeline", a.Goal)
	}
	return nil
}

// ending is how a wait ended.
type ending struct {
	code int
	// verdict completes the sentence that begins with the pipeline's name: "is ready".
	verdict string
}

// candidate is one pipeline that is waited for.
type candidate struct {
	Awaited
	name string
	uid  types.UID
	// last is nil once the pipeline does not exist.
	last *pipelines.Pipeline
	end  *ending
}

// see judges a revision of the pipeline, nil if it does not exist, until the wait has an end.
func (c *candidate) see(p *pipelines.Pipeline, now time.Time) {
	if c.end != nil {
		return
	}
	if p == nil || c.uid != "" && p.UID != c.uid {
		c.last, c.end = nil, c.gone()
		return
	}
	c.last, c.uid = p, p.UID
	c.end = c.judge(p, now)
}

func (a Awaited) gone() *ending {
	if a.Goal == goalDeleted {
		return &ending{cli.ExitOK, "has been deleted"}
	}
	return &ending{cli.ExitNotFound, "was deleted during the wait"}
}

// judge returns nil while the wait continues.
func (a Awaited) judge(p *pipelines.Pipeline, now time.Time) *ending {
	known := slices.ContainsFunc(p.Spec.Environments, func(e pipelines.Environment) bool { return e.Name == a.Environment })
	switch {
	case a.Goal == goalDeleted && p.DeletionTimestamp.IsZero():
		return &ending{cli.ExitNeedsSomebody, "is not being deleted"}
	case a.Goal == goalDeleted:
		return nil
	case a.Environment != "" && !known:
		return &ending{cli.ExitNotFound, "has no environment " + a.Environment}
	case p.Status.ObservedGeneration != p.Generation:
		return nil // The status describes an earlier spec.
	}
	v := viewOf(p, now)
	if verdict := a.reached(p, v); verdict != "" {
		return &ending{cli.ExitOK, verdict}
	}
	if hold := a.broken(v); hold != nil {
		return &ending{cli.ExitFailed, a.missed(v)}
	}
	return nil
}

// reached says how the goal is reached; empty if it is not.
func (a Awaited) reached(p *pipelines.Pipeline, v view) string {
	switch a.Goal {
	case goalReached:
		return a.arrived(v)
	case goalReady:
		if meta.IsStatusConditionTrue(p.Status.Conditions, pipelines.ConditionReady) {
			return "is ready"
		}
		return ""
	}
	return a.decided(v)
}

// arrived says where the revision has arrived; empty if it has not.
func (a Awaited) arrived(v view) string {
	revision := cmp.Or(a.Revision, v.Revision)
	missing := slices.ContainsFunc(a.environments(v), func(e environmentView) bool { return e.Revision != revision })
	if revision == "" || missing {
		return ""
	}
	return fmt.Sprintf("has revision %s in %s", revision, a.place())
}

// decided says what a promotion needs of somebody; empty if it does not need that.
func (a Awaited) decided(v view) string {
	wanted := decisions[a.Goal]
	for _, e := range a.environments(v) {
		if e.Promotion == nil || e.Promotion.State != wanted.state || !a.about(e.Promotion.Revision) {
			continue
		}
		for _, hold := range e.Holds {
			if hold.Reason == wanted.reason && hold.Revision == e.Promotion.Revision {
				return "waits for " + wanted.what + ": " + hold.Message
			}
		}
	}
	return ""
}

func (a Awaited) about(revision string) bool { return a.Revision == "" || a.Revision == revision }

// environments are those that the goal speaks of.
func (a Awaited) environments(v view) []environmentView {
	if a.Environment == "" {
		return v.Environments
	}
	return slices.DeleteFunc(slices.Clone(v.Environments), func(e environmentView) bool { return e.Name != a.Environment })
}

// holds are those that keep the goal from being reached: those of the pipeline, and of the environments up to the one that is waited for.
// What holds another revision does not count.
func (a Awaited) holds(v view) []pipelines.Hold {
	if i := slices.IndexFunc(v.Environments, func(e environmentView) bool { return e.Name == a.Environment }); i >= 0 {
		v.Environments = v.Environments[:i+1]
	}
	return slices.DeleteFunc(v.allHolds(), func(h pipelines.Hold) bool { return h.Revision != "" && !a.about(h.Revision) })
}

// broken returns the hold because of which the goal is not reached unless a user acts on a failure; nil if there is none.
func (a Awaited) broken(v view) *pipelines.Hold {
	for _, hold := range a.holds(v) {
		if slices.Contains(broken, hold.Reason) {
			return &hold
		}
	}
	return nil
}

// place is where the revision is wanted.
func (a Awaited) place() string {
	if a.Environment == "" {
		return "all environments"
	}
	return "environment " + a.Environment
}

// missed says that the goal is not reached.
func (a Awaited) missed(v view) string {
	switch a.Goal {
	case goalReady:
		return "is not ready"
	case goalDeleted:
		return "has not been deleted"
	case goalReached:
		if revision := cmp.Or(a.Revision, v.Revision); revision != "" {
			return fmt.Sprintf("does not have revision %s in %s", revision, a.place())
		}
		return "has no revision yet"
	}
	text := "has no promotion"
	if a.Revision != "" {
		text += " of revision " + a.Revision
	}
	if a.Environment != "" {
		text += " to environment " + a.Environment
	}
	return text + " that needs " + decisions[a.Goal].what
}

// flags are those of the command wait that waits for the same.
func (a Awaited) flags() []string {
	flags := []string{"--for=" + a.Goal}
	if a.Environment != "" {
		flags = append(flags, "--environment="+a.Environment)
	}
	if a.Revision != "" {
		flags = append(flags, "--revision="+a.Revision)
	}
	return flags
}
