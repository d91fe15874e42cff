// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/cli/display"
	"espalier.dev/internal/masking"
	"espalier.dev/internal/objecttree"
)

// report is where an object comes from.
type report struct {
	Object liveView `json:"object"`
	// Target is the one through which the object was found; empty if it is in the cluster of the connection.
	Target string `json:"target,omitempty"`
	// Owners lead from the object to the one that the deploy item manages, in the sense of Kubernetes.
	Owners []liveView `json:"owners,omitempty"`
	// Chain leads from the deploy item to the root installation. It is empty if only a pipeline knows the object.
	Chain []link `json:"chain"`
	// JobID is the job that the first of the chain worked for last.
	JobID string `json:"jobID,omitempty"`
	// Origins are the environments of pipelines that set the versions.
	Origins []origin `json:"origins"`
}

// liveView is what programs get to see of a live object.
type liveView struct {
	APIVersion string    `json:"apiVersion"`
	Kind       string    `json:"kind"`
	Namespace  string    `json:"namespace,omitempty"`
	Name       string    `json:"name"`
	UID        types.UID `json:"uid,omitempty"`
}

func viewOf(o *liveObject) liveView {
	return liveView{APIVersion: o.APIVersion, Kind: o.Kind, Namespace: o.Namespace, Name: o.Name, UID: o.UID}
}

// link is one object of the chain.
type link struct {
	*objecttree.View `json:",inline"`
	// Component, Version and the rest are those of an installation.
	Component string `json:"component,omitempty"`
	Version   string `json:"version,omitempty"`
	Blueprint string `json:"blueprint,omitempty"`
	// BlueprintRevision is the digest or commit that the blueprint was found at.
	BlueprintRevision string `json:"blueprintRevision,omitempty"`
	// TargetName is what people call the Target of a deploy item, which may be a copy.
	TargetName string `json:"targetName,omitempty"`
	node       *objecttree.Node
}

// describe fills in what is known of an object that a deploy item manages.
func (r *report) describe(chain []*objecttree.Node, way []*liveObject) {
	for _, owner := range way[1:] {
		r.Owners = append(r.Owners, viewOf(owner))
	}
	r.JobID = chain[0].Status.JobID
	for _, node := range chain {
		r.Chain = append(r.Chain, linkOf(node))
	}
}

func linkOf(node *objecttree.Node) link {
	l := link{View: node.View(), node: node, TargetName: node.Target()}
	installation, ok := node.Installation()
	if !ok {
		return l
	}
	if c := installation.Spec.ComponentDescriptor; c != nil && c.Reference != nil {
		l.Component = c.Reference.ComponentName
		l.Version = c.Reference.Version
	}
	l.Blueprint, l.BlueprintRevision = blueprintOf(installation), installation.Status.BlueprintRevision
	return l
}

// blueprintOf says where a blueprint comes from.
func blueprintOf(installation *lsv1alpha1.Installation) string {
	switch b := installation.Spec.Blueprint; {
	case b.Reference != nil:
		return b.Reference.ResourceName
	case b.OCI != nil:
		return b.OCI.Reference
	case b.Git != nil:
		return strings.TrimSuffix(fmt.Sprintf("%s@%s:%s", withoutUser(b.Git.URL), b.Git.Revision, b.Git.Path), ":")
	case b.Inline != nil:
		return "inline"
	}
	return ""
}

// withoutUser takes the credentials out of a URL.
func withoutUser(text string) string {
	bare, _ := masking.WithoutUser(text)
	return bare
}

// details tell people of an object of the chain.
func (l link) details() string {
	var told []string
	switch {
	case l.Kind == objecttree.DeployItem:
		told = append(told, l.Type)
		if l.TargetName != "" {
			told = append(told, "target "+l.TargetName)
		}
	case l.Component != "":
		told = append(told, fmt.Sprintf("component %s %s", l.Component, l.Version))
	}
	if l.Blueprint != "" {
		told = append(told, "blueprint "+l.Blueprint)
	}
	if l.BlueprintRevision != "" {
		told = append(told, "at "+l.BlueprintRevision)
	}
	return strings.Join(told, ", ")
}

// lines are the report for people.
func (r *report) lines(p display.Printer, suggest func(string, ...string) string) []string {
	lines := []string{display.Clean(r.headline()), ""}
	for _, line := range p.Indented(2).Align(r.table()) {
		lines = append(lines, "  "+line)
	}
	if r.JobID != "" {
		lines = append(lines, "", "Job: "+display.Clean(r.JobID))
	}
	if len(r.Origins) > 0 {
		lines = append(lines, "", "Promotion:")
	}
	for _, o := range r.Origins {
		lines = append(lines, "  "+o.sentence(p))
	}
	lines = append(lines, "", "Next:")
	for _, command := range r.next(suggest) {
		lines = append(lines, "  "+command)
	}
	return lines
}

// headline is the answer in one line.
func (r *report) headline() string {
	text := r.Object.Kind + "/" + r.Object.Name
	if r.Object.Namespace != "" {
		text += " in namespace " + r.Object.Namespace
	}
	if r.Target != "" {
		text += " of the cluster of Target " + r.Target
	}
	if len(r.Chain) == 0 {
		first := r.Origins[0]
		return fmt.Sprintf("%s is applied by Flux for %s/%s, which pipeline %s/%s promotes",
			text, first.Kind, first.App.Name, first.Pipeline.Namespace, first.Pipeline.Name)
	}
	top := r.Chain[len(r.Chain)-1]
	if len(r.Chain) == 1 && top.Kind == objecttree.Installation {
		return text + " is a root installation"
	}
	return fmt.Sprintf("%s comes from %s/%s in namespace %s", text, top.Kind, top.Name, top.Namespace)
}

func (r *report) table() display.Table {
	table := display.Table{Header: []string{"OBJECT", "PHASE", "JOB", "DETAILS"}}
	last := ""
	// A namespace is told where it changes.
	inNamespace := func(namespace, details string) display.Cell {
		if namespace != last && namespace != "" {
			details = strings.TrimSuffix("namespace "+namespace+", "+details, ", ")
		}
		last = namespace
		return display.Cell{Text: display.Clean(details)}
	}
	for _, o := range append([]liveView{r.Object}, r.Owners...) {
		if len(r.Chain) > 0 && isLink(r.Chain[0], o) {
			continue
		}
		table.Rows = append(table.Rows, []display.Cell{
			display.OrDash(o.Kind + "/" + o.Name), display.OrDash(""), display.OrDash(""), inNamespace(o.Namespace, ""),
		})
	}
	for _, l := range r.Chain {
		table.Rows = append(table.Rows, []display.Cell{
			display.OrDash(l.node.Title()), display.PhaseCell(l.node), display.OrDash(display.ShortJob(l.JobID)),
			inNamespace(l.Namespace, l.details()),
		})
	}
	return table
}

// isLink reports whether a live object is itself the first of the chain.
func isLink(l link, o liveView) bool { return l.node.Object.GetUID() == o.UID && o.UID != "" }

// next are commands that tell more.
func (r *report) next(suggest func(string, ...string) string) []string {
	var commands []string
	if len(r.Chain) > 0 {
		first, last := r.Chain[0], r.Chain[len(r.Chain)-1]
		commands = append(commands, suggest(first.Namespace, "why", strings.ToLower(string(first.Kind))+"/"+first.Name))
		if last.Kind == objecttree.Installation {
			commands = append(commands, suggest(last.Namespace, "tree", last.Name), suggest(last.Namespace, "inventory", last.Name))
		}
	}
	for _, o := range r.Origins {
		commands = append(commands, suggest(o.Pipeline.Namespace, "pipeline", "history", o.Pipeline.Name, o.Environment))
	}
	return slices.Compact(commands)
}
