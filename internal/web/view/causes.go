// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"context"
	"errors"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"espalier.dev/internal/dataflow"
	"espalier.dev/internal/explain"
	"espalier.dev/internal/objecttree"
)

// causes determines why installations are not done, with the same functions as `espalier why`.
type causes struct {
	scene     Scene
	relations *relations
	asked     map[string]*explain.Controllers
	targets   map[string][]string
}

func newCauses(s Scene, r *relations) *causes {
	c := &causes{scene: s, relations: r, asked: map[string]*explain.Controllers{}, targets: map[string][]string{}}
	for _, target := range s.Targets {
		c.targets[target.Namespace] = append(c.targets[target.Namespace], target.Name)
	}
	return c
}

// controllers returns Controllers that know the Targets of a namespace, if the reader may list them.
func (c *causes) controllers(namespace string) *explain.Controllers {
	if known := c.asked[namespace]; known != nil {
		return known
	}
	names := targetNames{namespace: namespace, names: c.targets[namespace], allowed: c.scene.mayList(listedTargets, namespace)}
	c.asked[namespace] = explain.Read(context.Background(), names, namespace, c.scene.Now)
	return c.asked[namespace]
}

// targetNames provides package explain with the names of Targets, which it reads through a client.
type targetNames struct {
	client.Reader
	namespace string
	names     []string
	allowed   bool
}

var errNotListed = errors.New("the reader may not list targets")

// Get returns an error: the page shows the statuses in a namespace that is being deleted.
func (t targetNames) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	return errNotListed
}

// List returns the names.
func (t targetNames) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	metadata, ok := list.(*metav1.PartialObjectMetadataList)
	if !ok || !t.allowed {
		return errNotListed
	}
	for _, name := range t.names {
		metadata.Items = append(metadata.Items, metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: t.namespace, Name: name}})
	}
	return nil
}

// Package explain reads all siblings of an installation to explain it, several times if it asks the controllers. A page is rendered again
// whenever something changes, so with many installations the statuses must suffice.
const (
	// maxAsked is the maximum number of installations nested in the same one for which the controllers are asked.
	maxAsked = 50
	// maxCluster is the maximum number of installations, exchanging values or nested in the same one, that are followed to each other.
	maxCluster = 200
)

// find returns the chains from an object to what holds it up, the most informative first.
func (c *causes) find(node *objecttree.Node) []explain.Chain {
	switch crowd := crowdOf(node.Top()); {
	case crowd > maxCluster:
		return fromStatus(node)
	case crowd > maxAsked:
		return explain.Find(node, nil)
	}
	return explain.Find(node, c.controllers(node.Namespace()))
}

// crowdOf returns the maximum number of installations nested in the same one.
func crowdOf(top *objecttree.Node) int {
	largest := 0
	top.Walk(func(node *objecttree.Node) {
		if node.Kind == objecttree.Installation {
			largest = max(largest, len(node.Below))
		}
	})
	return largest
}

// of explains one installation, alone and with those that it exchanges values with.
func (c *causes) of(node *objecttree.Node) []explain.Chain {
	top := node.Top()
	for _, cluster := range c.clusters() {
		switch {
		case !slices.Contains(cluster, top):
		case len(cluster) > maxCluster:
			return fromStatus(node)
		default:
			return c.inWhole(c.find(apart(cluster).Installation(node.Namespace(), node.Name())))
		}
	}
	return c.find(node)
}

// ofTops explains the tops that are not done, or not up to date. Unrelated ones of a namespace are separated first, because an explanation
// reads all peers of an installation, relevant or not.
func (c *causes) ofTops() map[*objecttree.Node][]explain.Chain {
	found := map[*objecttree.Node][]explain.Chain{}
	for _, cluster := range c.clusters() {
		open := unfinished(cluster)
		switch {
		case len(open) == 0:
		case len(cluster) > maxCluster:
			for _, top := range open {
				found[top] = fromStatus(top)
			}
		default:
			forest := apart(cluster)
			for _, top := range open {
				if chains := c.find(forest.Installation(top.Namespace(), top.Name())); len(chains) > 0 {
					found[top] = c.inWhole(chains)
				}
			}
		}
	}
	return found
}

func unfinished(tops []*objecttree.Node) []*objecttree.Node {
	var open []*objecttree.Node
	for _, top := range tops {
		if top.State() != objecttree.Succeeded || top.Explain().Reason != "" {
			open = append(open, top)
		}
	}
	return open
}

// apart returns a forest of some trees only.
func apart(tops []*objecttree.Node) *objecttree.Forest {
	var objects objecttree.Objects
	for _, top := range tops {
		top.Walk(func(node *objecttree.Node) { objects.Put(node.Object) })
	}
	return objects.Forest()
}

// inWhole maps chains back to the nodes of the whole forest.
func (c *causes) inWhole(chains []explain.Chain) []explain.Chain {
	for _, chain := range chains {
		for i, link := range chain {
			chain[i].Node = c.relations.forest.Find(link.Node.Kind, link.Node.Namespace(), link.Node.Name())
		}
	}
	return chains
}

// fromStatus follows failures downwards as far as statuses report them. It returns none for an object that is done.
func fromStatus(node *objecttree.Node) []explain.Chain {
	if node.State() == objecttree.Succeeded && node.Explain().Reason == "" {
		return nil
	}
	chain := explain.Chain{{Node: node, Explanation: node.Explain()}}
	for next := node; next != nil; {
		next = nil
		for _, below := range chain.Cause().Node.Below {
			if below.State() == objecttree.Failed {
				next = below
				chain = append(chain, explain.Link{Node: below, Explanation: below.Explain()})
				break
			}
		}
	}
	return []explain.Chain{chain}
}

// clusters returns groups of tops that exchange values, directly or not, in the order of the forest.
func (c *causes) clusters() [][]*objecttree.Node {
	joined := map[*objecttree.Node]*objecttree.Node{}
	var first func(*objecttree.Node) *objecttree.Node
	first = func(node *objecttree.Node) *objecttree.Node {
		if joined[node] == nil || joined[node] == node {
			return node
		}
		joined[node] = first(joined[node])
		return joined[node]
	}
	join := func(a, b *objecttree.Node) {
		if a, b := first(a), first(b); a != b {
			joined[b] = a
		}
	}
	exporters := map[exportKey]*objecttree.Node{}
	for _, top := range c.relations.forest.Tops {
		for _, before := range c.relations.predecessors(top) {
			join(before, top)
		}
		c.eachExport(top, func(k exportKey) {
			if other := exporters[k]; other != nil {
				join(other, top)
			}
			exporters[k] = top
		})
	}
	groups := map[*objecttree.Node]int{}
	var all [][]*objecttree.Node
	for _, top := range c.relations.forest.Tops {
		head := first(top)
		at, known := groups[head]
		if !known {
			at = len(all)
			groups[head] = at
			all = append(all, nil)
		}
		all[at] = append(all[at], top)
	}
	return all
}

// exportKey is an object that an installation exports. Two installations with the same export conflict.
type exportKey struct {
	scopeKey
	id dataflow.ObjectID
}

func (c *causes) eachExport(node *objecttree.Node, visit func(exportKey)) {
	object, ok := node.Installation()
	if !ok {
		return
	}
	for _, id := range dataflow.ExportedObjects(scopeOf(node), object.Spec.Exports) {
		visit(exportKey{keyOf(node), id})
	}
}
