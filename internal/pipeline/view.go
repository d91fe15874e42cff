// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"fmt"
	"slices"
	"strings"

	pipelines "espalier.dev/api/pipelines/v1alpha1"
)

// view is an environment of the spec with the facts about it.
type view struct {
	index int
	spec  pipelines.Environment
	seen  Environment
	kind  string
	// reported are the revisions as the targets report them; in seen, equivalent ones have the same spelling.
	reported []string
	// duplicate reports whether an earlier environment has the same name.
	duplicate bool
}

// views pairs the environments of the spec with the facts about them. A target without facts is unreadable.
func views(o Observed) []view {
	result := make([]view, len(o.Spec.Environments))
	seen := map[string]bool{}
	for i, spec := range o.Spec.Environments {
		v := view{index: i, spec: spec, kind: o.Spec.AppRef.Kind, duplicate: seen[spec.Name]}
		if i < len(o.Environments) {
			v.seen = o.Environments[i]
		}
		v.seen.Targets = slices.Clone(v.seen.Targets[:min(len(v.seen.Targets), len(spec.Targets))])
		for len(v.seen.Targets) < len(spec.Targets) {
			v.seen.Targets = append(v.seen.Targets, Target{Problem: Problem{
				Reason: pipelines.ReasonTargetNotReadable, Message: "unknown",
			}})
		}
		for t := range v.seen.Targets {
			v.seen.Targets[t].Revision = Comparable(v.kind, v.seen.Targets[t].Revision)
			v.seen.Targets[t].AttemptedRevision = Comparable(v.kind, v.seen.Targets[t].AttemptedRevision)
			v.reported = append(v.reported, v.seen.Targets[t].Revision)
		}
		seen[spec.Name] = true
		result[i] = v
	}
	spell(o, result)
	return result
}

func (v view) name() string { return v.spec.Name }

// readable reports whether all targets can be read.
func (v view) readable() bool {
	return !slices.ContainsFunc(v.seen.Targets, func(t Target) bool { return !t.Readable() })
}

// revision returns the revision at which all targets are healthy; empty if the environment has not settled.
func (v view) revision() string {
	var revision string
	for _, t := range v.seen.Targets {
		if !t.Readable() || !t.Healthy || t.Revision == "" || revision != "" && t.Revision != revision {
			return ""
		}
		revision = t.Revision
	}
	return revision
}

// runs reports whether a readable target runs a revision, healthy or not.
func (v view) runs(revision string) bool {
	return slices.ContainsFunc(v.seen.Targets, func(t Target) bool { return t.Readable() && t.Revision == revision })
}

// left reports whether certainly no target runs a revision.
func (v view) left(revision string) bool {
	return len(v.seen.Targets) > 0 && v.readable() && !v.runs(revision)
}

// runsHigher reports whether a target runs a higher version than a revision.
func (v view) runsHigher(revision string) bool {
	return slices.ContainsFunc(v.seen.Targets, func(t Target) bool { return lower(revision, t.Revision) })
}

// tried reports whether a target has tried a revision and runs another one. The attempt may still be in progress.
func (v view) tried(revision string) bool {
	return slices.ContainsFunc(v.seen.Targets, func(t Target) bool { return t.tried(revision) })
}

// wentBack reports whether a target has tried a revision, has failed, and runs another one.
func (v view) wentBack(revision string) bool {
	return slices.ContainsFunc(v.seen.Targets, func(t Target) bool { return t.Failing && t.tried(revision) })
}

func (t Target) tried(revision string) bool {
	return t.Readable() && !t.Healthy && t.AttemptedRevision == revision && t.Revision != revision
}

// unreadableGate is closed while a target cannot be read, or may not be.
func unreadableGate(v view) gate {
	g := gate{reason: pipelines.HoldTargetNotReadable, message: v.unreadable()}
	i := slices.IndexFunc(v.seen.Targets, func(t Target) bool { return !t.Readable() })
	switch v.seen.Targets[i].Problem.Reason {
	case pipelines.ReasonReferenceNotPermitted:
		g.reason = pipelines.HoldReferenceNotPermitted
	case pipelines.ReasonKindNotPermitted:
		g.reason = pipelines.HoldInvalid
	}
	return g
}

// neverDeployed reports whether a target has an application that was never deployed.
func (v view) neverDeployed() bool {
	return slices.ContainsFunc(v.seen.Targets, func(t Target) bool { return t.NeverDeployed })
}

// undeployed names the targets that were never deployed to.
func undeployed(v view) string {
	return list(v, func(t Target) (string, bool) {
		return "has never been deployed: deploy it once, or set firstRelease of environment " + v.name(), t.NeverDeployed
	})
}

// unreadable names the targets that cannot be read, and why.
func (v view) unreadable() string {
	return list(v, func(t Target) (string, bool) { return t.Problem.Message, !t.Readable() })
}

// laggards names the targets that are not healthy at a revision. Without a revision, it names all targets.
func (v view) laggards(revision string) string {
	return list(v, func(t Target) (string, bool) {
		switch {
		case !t.Readable():
			return "cannot be read: " + t.Problem.Message, true
		case t.Healthy && t.Revision == revision && revision != "":
			return "", false
		case t.Healthy && t.Revision == "":
			return "is healthy at no known revision", true
		case t.Healthy:
			return "is healthy at " + t.Revision, true
		}
		return strings.TrimSuffix(fmt.Sprintf("is not healthy at %s: %s", orNone(t.Revision), t.Message), ": "), true
	})
}

func orNone(revision string) string {
	if revision == "" {
		return "any revision"
	}
	return revision
}

// list describes each target for which tell returns true.
func list(v view, tell func(Target) (string, bool)) string {
	var parts []string
	for i, t := range v.seen.Targets {
		if text, ok := tell(t); ok {
			parts = append(parts, nameTarget(v.spec.Targets[i])+" "+text)
		}
	}
	return strings.Join(parts, "; ")
}

// nameTarget names a target in messages.
func nameTarget(t pipelines.Target) string {
	if t.ClusterRef == nil {
		return "target " + t.Namespace
	}
	return fmt.Sprintf("target %s in %s %s", t.Namespace, t.ClusterRef.Kind, t.ClusterRef.Name)
}

// promotion returns the block that configures promotion to the environment; nil if there is none.
func (o Observed) promotion(v view) *pipelines.Promotion { return o.Spec.PromotionTo(v.spec) }

// strategyOf returns the effective strategy, with all others unset; an empty name if there is none.
func strategyOf(p *pipelines.Promotion) (pipelines.StrategyName, pipelines.Strategy) {
	switch {
	case p == nil:
		return "", pipelines.Strategy{}
	case p.Strategy.PullRequest != nil:
		return pipelines.StrategyPullRequest, pipelines.Strategy{PullRequest: p.Strategy.PullRequest}
	case p.Strategy.Notification != nil:
		return pipelines.StrategyNotification, pipelines.Strategy{Notification: p.Strategy.Notification}
	case p.Strategy.Installation != nil:
		return pipelines.StrategyInstallation, pipelines.Strategy{Installation: p.Strategy.Installation}
	}
	return "", pipelines.Strategy{}
}
