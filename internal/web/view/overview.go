// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	pipelinesv1alpha1 "espalier.dev/api/pipelines/v1alpha1"
	"espalier.dev/internal/explain"
	"espalier.dev/internal/objecttree"
)

// NewOverview returns the first page.
func NewOverview(s Scene) Overview {
	forest := s.forest()
	c := newCauses(s, newRelations(forest))
	found := c.ofTops()
	o := Overview{
		Now: s.Now.UTC(), Soon: s.soon(), Pipelines: []PipelineRow{}, Installations: make([]InstallationRow, 0, len(forest.Tops)),
		Hidden: s.hidden("", listedInstallations, listedExecutions, listedDeployItems, listedPipelines, listedTargets),
	}
	needs := newNeeds(c)
	for _, top := range forest.Tops {
		o.Installations = append(o.Installations, installationRow(top, found[top]))
		needs.ofInstallation(top, found[top])
	}
	for _, p := range sortedPipelines(s.Pipelines) {
		b := newBoard(s, forest, p)
		b.brief = true
		o.Pipelines = append(o.Pipelines, b.row())
		needs.ofPipeline(b)
	}
	o.Needs = needs.sorted()
	o.Verdict = overviewVerdict(len(o.Needs))
	return o
}

func overviewVerdict(needs int) string {
	switch needs {
	case 0:
		return "Nothing needs you."
	case 1:
		return "1 thing needs you."
	default:
		return fmt.Sprintf("%d things need you.", needs)
	}
}

func sortedPipelines(all []*pipelinesv1alpha1.Pipeline) []*pipelinesv1alpha1.Pipeline {
	return slices.SortedFunc(slices.Values(all), func(a, b *pipelinesv1alpha1.Pipeline) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
}

func installationRow(top *objecttree.Node, chains []explain.Chain) InstallationRow {
	row := InstallationRow{Ref: refOf(top), Progress: progressOf(top), Flow: flowOf(top), WaitsFor: waitsFor(chains)}
	row.Component, row.Version = componentOf(top)
	known := top.Explain()
	if len(chains) > 0 {
		known = chains[0][0].Explanation
	}
	row.Status = statusOf(top, known)
	return row
}

// waitsFor describes the first cause in a sentence, which names its object unless it is that of the row.
func waitsFor(chains []explain.Chain) string {
	switch {
	case len(chains) == 0:
		return ""
	case len(chains[0]) == 1:
		return firstLine(explain.Message(chains[0].Cause()))
	}
	return firstLine(explain.Sentence(chains[0]))
}

func flowOf(node *objecttree.Node) string {
	if node.Continuous() {
		return string(lsv1alpha1.FlowContinuous)
	}
	return string(lsv1alpha1.FlowJob)
}

// componentOf returns the component and the revision of an installation, each empty if it has none.
func componentOf(node *objecttree.Node) (component, version string) {
	object, ok := node.Installation()
	if !ok {
		return "", ""
	}
	if c := object.Spec.ComponentDescriptor; c != nil && c.Reference != nil {
		component = c.Reference.ComponentName
	}
	version, err := object.Spec.Revision()
	if err != nil {
		return component, "" // A field without a revision is a problem for promotions only.
	}
	return component, version
}

// soonest is how long before its expiry a certificate is reported.
const soonest = 14 * 24 * time.Hour

// EndsSoon reports whether a certificate or token of a target has expired, or will soon.
func (c *TargetCheck) EndsSoon(now time.Time) bool {
	return c.Expires != nil && c.Expires.Sub(now) <= soonest
}

// soon reports what will need attention soon.
func (s Scene) soon() []string {
	told := []string{}
	refs := slices.SortedFunc(maps.Keys(s.Checks), func(a, b Ref) int { return cmp.Compare(idOf(a), idOf(b)) })
	for _, ref := range refs {
		check := s.Checks[ref]
		if check == nil || !check.EndsSoon(s.Now) {
			continue
		}
		what := fmt.Sprintf("The %s of %s %s in namespace %s", cmp.Or(check.Expiring, "certificate or token"), ref.Kind, ref.Name, ref.Namespace)
		if days := int(check.Expires.Sub(s.Now) / (24 * time.Hour)); check.Expires.After(s.Now) {
			told = append(told, fmt.Sprintf("%s expires %s.", what, inDays(days)))
		} else {
			told = append(told, what+" has expired.")
		}
	}
	return told
}

func inDays(days int) string {
	if days == 0 {
		return "within a day"
	}
	return "in " + counted(days, "day", "days")
}
