// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strconv"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	pipelinesv1alpha1 "espalier.dev/api/pipelines/v1alpha1"
	"espalier.dev/internal/dataflow"
	"espalier.dev/internal/objecttree"
)

// NewTargets makes the page of targets and clusters.
func NewTargets(s Scene) Targets {
	page := Targets{Now: s.Now.UTC(), Rows: []TargetRow{}, Hidden: s.hidden("", listedTargets, listedDeployItems, listedPipelines)}
	runs := s.usedBy()
	for _, target := range s.Targets {
		if isCopy(target) {
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

// Lookable are the Targets that lead to clusters, without those that installations have copied: they lead where their originals do. With
// them are the GitopsClusters of pipelines.
func Lookable(targets []*lsv1alpha1.Target, pipelines []*pipelinesv1alpha1.Pipeline) []Ref {
	var refs []Ref
	for _, target := range targets {
		if !isCopy(target) && isCluster(string(target.Spec.Type)) {
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

// clustersOf are the clusters that a pipeline names.
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
			" are looked at here"}
	case check == nil:
		row.Status = Status{Tone: NotYet, Word: "NotChecked", Message: "nobody has looked at it yet"}
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
		return "Nobody has looked at the targets yet."
	case looked < clusters:
		return fmt.Sprintf("%d of %s can be read; the others have not been looked at yet.", looked, counted(clusters, "target", "targets"))
	case looked == 1:
		return "The target can be read."
	}
	return fmt.Sprintf("All %d targets can be read.", clusters)
}

// isCopy reports whether an installation has made a Target for what it contains.
func isCopy(target *lsv1alpha1.Target) bool {
	return target.Labels[lsv1alpha1.DataObjectSourceTypeLabel] == lsv1alpha1.DataObjectSourceImport
}

// usedBy are the installations and pipelines that use each target or cluster. Nobody may change the answer.
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
	origins := newOrigins(s, forest)
	for _, top := range forest.Tops {
		top.Walk(func(node *objecttree.Node) {
			if item, ok := node.DeployItem(); ok && item.Spec.Target != nil {
				use(origins.of(Ref{"Target", item.Namespace, item.Spec.Target.Name}), refOf(top))
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

// origins follow Targets that installations have copied for what they contain back to those that people have made.
type origins struct {
	targets map[Ref]*lsv1alpha1.Target
	forest  *objecttree.Forest
}

func newOrigins(s Scene, forest *objecttree.Forest) origins {
	o := origins{targets: make(map[Ref]*lsv1alpha1.Target, len(s.Targets)), forest: forest}
	for _, target := range s.Targets {
		o.targets[Ref{"Target", target.Namespace, target.Name}] = target
	}
	return o
}

// maxDepth ends the search among labels that lead in a circle: anybody can write labels.
const maxDepth = 100

func (o origins) of(ref Ref) Ref {
	for range maxDepth {
		target := o.targets[ref]
		if target == nil || !isCopy(target) {
			return ref
		}
		name, found := o.before(target)
		if !found {
			return ref
		}
		ref = Ref{"Target", ref.Namespace, name}
	}
	return ref
}

// before is the name of the Target that one was copied from.
func (o origins) before(target *lsv1alpha1.Target) (string, bool) {
	name, ok := dataflow.InstallationOf(target.Labels[lsv1alpha1.DataObjectSourceLabel])
	node := o.forest.Installation(target.Namespace, name)
	if !ok || node == nil {
		return "", false
	}
	object, _ := node.Installation()
	for _, imported := range object.Spec.Imports.Targets {
		if imported.Name == target.Labels[lsv1alpha1.DataObjectKeyLabel] {
			reference, found := elementOf(imported, target.Labels)
			return scopeOf(node).ObjectName(reference), found
		}
	}
	return "", false
}

// elementOf is what a copy of a single target, or of one of a list or map, refers to.
func elementOf(imported lsv1alpha1.TargetImport, labels map[string]string) (string, bool) {
	if imported.Target != "" {
		return imported.Target, true
	}
	if key, keyed := labels[lsv1alpha1.DataObjectTargetMapKeyLabel]; keyed {
		if imported.TargetMapReference != "" {
			return dataflow.KeyedReference(imported.TargetMapReference, key), true
		}
		return imported.TargetMap[key], imported.TargetMap[key] != ""
	}
	index, err := strconv.Atoi(labels[lsv1alpha1.DataObjectIndexLabel])
	switch {
	case err != nil || index < 0:
		return "", false
	case imported.TargetListReference != "":
		return dataflow.IndexedReference(imported.TargetListReference, index), true
	case index < len(imported.Targets):
		return imported.Targets[index], true
	}
	return "", false
}
