// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"espalier.dev/internal/cli/display"
	"espalier.dev/internal/objecttree"
)

// kindRelease stands in the place of a kind for releases of Helm, which are no objects of one kind.
const kindRelease = "Release"

// entry is an object in a target cluster with the place in the tree that it belongs to. It holds nothing of the object's content.
type entry struct {
	// Target is the name of the Target, in the namespace of the deploy item; empty if the deploy item has none.
	Target string `json:"target,omitempty"`
	// TargetName is what people call the Target: an installation copies Targets for those nested in it, and the copies have names that say
	// nothing.
	TargetName string    `json:"targetName,omitempty"`
	APIVersion string    `json:"apiVersion,omitempty"`
	Kind       string    `json:"kind"`
	Namespace  string    `json:"namespace,omitempty"`
	Name       string    `json:"name"`
	UID        types.UID `json:"uid,omitempty"`
	// Policy says how far the object belongs to the deploy item. It is empty for releases and their workloads.
	Policy string `json:"policy,omitempty"`
	// Release is set if the entry stands for a release of Helm.
	Release *objecttree.Release `json:"release,omitempty"`
	// State and Message are known if somebody has looked into the cluster.
	State   objecttree.LiveState `json:"state,omitempty"`
	Message string               `json:"message,omitempty"`

	DeployItem   itemRef `json:"deployItem"`
	Installation nameRef `json:"installation"`
	Root         nameRef `json:"root"`
	node         *objecttree.Node
}

type nameRef struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
}

type itemRef struct {
	nameRef `json:",inline"`
	As      string           `json:"as,omitempty"`
	Type    string           `json:"type,omitempty"`
	State   objecttree.State `json:"state"`
	Phase   string           `json:"phase,omitempty"`
	JobID   string           `json:"jobID,omitempty"`
}

// entriesOf lists what deploy items have in their clusters.
func entriesOf(items []*objecttree.Node) []entry {
	entries := []entry{}
	for _, node := range items {
		entries = append(entries, entriesOfItem(node)...)
	}
	return entries
}

func entriesOfItem(node *objecttree.Node) []entry {
	item, _ := node.DeployItem()
	deployed := node.Deployed()
	known := map[objectKey]objecttree.Managed{}
	for _, managed := range objecttree.ManagedBy(item) {
		known[keyOf(managed.DeployedObject)] = managed
	}
	place := placeOf(node)
	lost := deployed.Release != nil && deployed.Release.TakenOverBy != ""
	var entries []entry
	if deployed.Release != nil && !lost {
		e := place
		e.Kind, e.Namespace, e.Name, e.Release = kindRelease, deployed.Release.Namespace, deployed.Release.Name, deployed.Release
		if deployed.Problem != "" {
			e.State, e.Message = objecttree.NotReadable, deployed.Problem
		}
		entries = append(entries, e)
	}
	for _, object := range deployed.Objects {
		managed := known[keyOf(object)]
		if lost && managed.Policy == "" {
			continue // It is one of the release, which another deploy item has.
		}
		e := place
		e.APIVersion, e.Kind, e.Namespace, e.Name = object.APIVersion, object.Kind, object.Namespace, object.Name
		e.UID, e.Policy, e.State, e.Message = managed.UID, managed.Policy, object.State, object.Message
		if deployed.Problem != "" {
			e.State, e.Message = objecttree.NotReadable, deployed.Problem
		}
		entries = append(entries, e)
	}
	return entries
}

// placeOf is an entry without an object: everything about the place in the tree.
func placeOf(node *objecttree.Node) entry {
	view := node.View()
	e := entry{Target: view.Target, TargetName: view.Target, node: node, DeployItem: itemRef{
		nameRef: refTo(node), As: view.As, Type: view.Type, State: view.State, Phase: view.Phase, JobID: view.JobID,
	}}
	for above := node.Above; above != nil; above = above.Above {
		if above.Kind != objecttree.Installation {
			continue
		}
		if e.Installation.Name == "" {
			e.Installation = refTo(above)
		}
		e.Root = refTo(above)
	}
	return e
}

// nameTargets gives Targets the names that people know.
func nameTargets(entries []entry, origins *objecttree.Origins) {
	for i, e := range entries {
		entries[i].TargetName = origins.Name(e.DeployItem.Namespace, e.Target)
	}
}

func refTo(node *objecttree.Node) nameRef { return nameRef{node.Namespace(), node.Name()} }

// objectKey tells objects of a cluster apart. The version of the kind is no part of it: an object is the same in all versions.
type objectKey struct {
	schema.GroupKind
	namespace, name string
}

func keyOf(o objecttree.DeployedObject) objectKey {
	return objectKey{schema.FromAPIVersionAndKind(o.APIVersion, o.Kind).GroupKind(), o.Namespace, o.Name}
}

func (o options) table(entries []entry, wide bool) display.Table {
	table := display.Table{Header: []string{"TARGET", "KIND", "OBJECT", "INSTALLATION", "DEPLOYITEM", "PHASE"}}
	if o.access.AllNamespaces() {
		table.Header = append([]string{"NAMESPACE"}, table.Header...)
	}
	if wide {
		table.Header = append(table.Header, "APIVERSION", "POLICY", "ROOT", "JOB")
	}
	if o.live {
		table.Header = append(table.Header, "STATE", "MESSAGE")
	}
	for _, e := range entries {
		table.Rows = append(table.Rows, o.row(e, wide))
	}
	return table
}

func (o options) row(e entry, wide bool) []display.Cell {
	row := []display.Cell{
		display.OrDash(e.TargetName), display.OrDash(e.Kind), display.OrDash(e.title()), display.OrDash(e.Installation.Name),
		display.OrDash(e.DeployItem.Name), display.PhaseCell(e.node),
	}
	if o.access.AllNamespaces() {
		row = append([]display.Cell{display.OrDash(e.DeployItem.Namespace)}, row...)
	}
	if wide {
		row = append(row, display.OrDash(e.APIVersion), display.OrDash(e.Policy), display.OrDash(e.Root.Name),
			display.OrDash(display.ShortJob(e.DeployItem.JobID)))
	}
	if o.live {
		row = append(row, display.LiveCell(e.State), display.Cell{Text: display.Summary(e.Message)})
	}
	return row
}

// title is namespace and name of the object; of a release also what was installed.
func (e entry) title() string {
	title := strings.TrimPrefix(e.Namespace+"/"+e.Name, "/")
	if e.Release != nil && e.Release.Chart != "" {
		title += fmt.Sprintf(" (%s %s)", e.Release.Chart, e.Release.ChartVersion)
	}
	return title
}

// names are those of the objects in the form that kubectl takes. A release is the Secret with its record.
func names(entries []entry) []string {
	var lines []string
	for _, e := range entries {
		switch {
		case e.Release == nil:
			resource := strings.ToLower(e.Kind)
			if group := schema.FromAPIVersionAndKind(e.APIVersion, e.Kind).Group; group != "" {
				resource += "." + group
			}
			lines = append(lines, display.Clean(resource+"/"+e.Name))
		case e.Release.Revision > 0:
			lines = append(lines, display.Clean(fmt.Sprintf("secret/%s%s.v%d", recordPrefix, e.Release.Name, e.Release.Revision)))
		}
	}
	return lines
}
