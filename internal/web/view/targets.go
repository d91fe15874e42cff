// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"cmp"
	"fmt"
	"iter"
	"slices"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	pipelinesv1alpha1 "espalier.dev/api/pipelines/v1alpha1"
	"espalier.dev/internal/objecttree"
)

// NewTargets returns the page of targets and clusters.
func NewTargets(s Scene) Targets {
	page := Targets{Now: s.Now.UTC(), Rows: []TargetRow{}, Hidden: s.hidden("", listedTargets, listedDeployItems, listedPipelines)}
	runs := s.usedBy()
	for _, target := range s.Targets {
		if objecttree.IsCopy(target) {
			continue
		}
		ref := Ref{"Target", target.Namespace, target.Name}
		page.Rows = append(page.Rows, s.targetRow(ref, string(target.Spec.Type), runs))
	}
	for ref := range runs {
		if ref.Kind == string(pipelinesv1alpha1.ClusterKindGitopsCluster) {
			page.Rows = append(page.Rows, s.targetRow(ref, ref.Kind, runs))
		}
	}
	slices.SortFunc(page.Rows, func(a, b TargetRow) int {
		return cmp.Or(cmp.Compare(a.Ref.Namespace, b.Ref.Namespace), cmp.Compare(a.Ref.Name, b.Ref.Name), cmp.Compare(a.Ref.Kind, b.Ref.Kind))
	})
	page.Verdict = targetsVerdict(page.Rows)
	return page
}

// Lookable returns the Targets that lead to clusters, except copies made by installations, which lead to the same clusters as their
// originals. It includes the GitopsClusters of pipelines.
func Lookable(targets []*lsv1alpha1.Target, pipelines []*pipelinesv1alpha1.Pipeline) []Ref {
	var refs []Ref
	for _, target := range targets {
		if !objecttree.IsCopy(target) && isCluster(string(target.Spec.Type)) {
			refs = append(refs, Ref{"Target", target.Namespace, target.Name})
		}
	}
	known := map[Ref]bool{}
	for _, p := range pipelines {
		for ref := range clustersOf(p) {
			if isCluster(ref.Kind) && !known[ref] {
				known[ref] = true
				refs = append(refs, ref)
			}
		}
	}
	return refs
}

// isCluster reports whether a type of Targets, or the kind of another object, leads to a cluster.
func isCluster(kind string) bool {
	return kind == string(lsv1alpha1.TargetTypeKubernetesCluster) || kind == string(pipelinesv1alpha1.ClusterKindGitopsCluster)
}

// clustersOf returns the clusters that a pipeline names.
func clustersOf(p *pipelinesv1alpha1.Pipeline) iter.Seq[Ref] {
	return func(yield func(Ref) bool) {
		for _, e := range p.Spec.Environments {
			for _, target := range e.Targets {
				c := target.ClusterRef
				if c != nil && !yield(Ref{string(c.Kind), cmp.Or(c.Namespace, p.Namespace), c.Name}) {
					return
				}
			}
		}
	}
}

func (s Scene) targetRow(ref Ref, kind string, runs map[Ref]map[Ref]bool) TargetRow {
	row := TargetRow{Ref: ref, Type: kind, Runs: []Ref{}, Check: s.Checks[ref]}
	for user := range runs[ref] {
		row.Runs = append(row.Runs, user)
	}
	slices.SortFunc(row.Runs, func(a, b Ref) int { return cmp.Compare(idOf(a), idOf(b)) })
	switch check := row.Check; {
	case !isCluster(kind):
		row.Status = Status{Tone: NotYet, Word: "NotLookedAt", Message: "only Targets of type " + string(lsv1alpha1.TargetTypeKubernetesCluster) +
			" are checked here"}
	case check == nil:
		row.Status = Status{Tone: NotYet, Word: "NotChecked", Message: "not checked yet"}
	case check.Reachable:
		row.Status = Status{Tone: Done, Word: "Reachable", Since: timeOf(check.At)}
	default:
		row.Status = Status{Tone: Unknown, Word: "NotReadable", Since: timeOf(check.At), Message: check.Error}
	}
	return row
}

func targetsVerdict(rows []TargetRow) string {
	bad, looked, clusters := 0, 0, 0
	for _, row := range rows {
		if isCluster(row.Type) {
			clusters++
		}
		if row.Check != nil {
			looked++
			if !row.Check.Reachable {
				bad++
			}
		}
	}
	switch {
	case len(rows) == 0:
		return "There are no targets."
	case bad > 0:
		return fmt.Sprintf("%d of %s cannot be read.", bad, counted(clusters, "target", "targets"))
	case looked == 0:
		return "The targets have not been checked yet."
	case looked < clusters:
		return fmt.Sprintf("%d of %s can be read; the others have not been checked yet.", looked, counted(clusters, "target", "targets"))
	case looked == 1:
		return "The target can be read."
	}
	return fmt.Sprintf("All %d targets can be read.", clusters)
}

// usedBy returns the installations and pipelines that use each target or cluster. The result must not be changed.
func (s Scene) usedBy() map[Ref]map[Ref]bool {
	if s.uses != nil {
		return s.uses()
	}
	return s.findUses()
}

func (s Scene) findUses() map[Ref]map[Ref]bool {
	used := map[Ref]map[Ref]bool{}
	use := func(target, user Ref) {
		if used[target] == nil {
			used[target] = map[Ref]bool{}
		}
		used[target][user] = true
	}
	forest := s.forest()
	origins := objecttree.NewOrigins(forest)
	for _, target := range s.Targets {
		origins.Add(target)
	}
	for _, top := range forest.Tops {
		top.Walk(func(node *objecttree.Node) {
			if item, ok := node.DeployItem(); ok && item.Spec.Target != nil {
				use(Ref{"Target", item.Namespace, origins.Of(item.Namespace, item.Spec.Target.Name)}, refOf(top))
			}
		})
	}
	for _, p := range s.Pipelines {
		for cluster := range clustersOf(p) {
			use(cluster, Ref{"Pipeline", p.Namespace, p.Name})
		}
	}
	return used
}
