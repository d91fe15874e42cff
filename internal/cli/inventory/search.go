// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	pipelines "espalier.dev/api/pipelines/v1alpha1"
	"espalier.dev/internal/cli"
	"espalier.dev/internal/cli/connect"
	"espalier.dev/internal/objecttree"
)

const (
	// maxOwners bounds the way from an object to what it belongs to in the sense of Kubernetes.
	maxOwners = 10
	// maxLinks bounds the chain of deploy items and installations.
	maxLinks = 100
)

// search looks for the deploy item that an object belongs to, and for everything above that.
type search struct {
	host  client.Reader
	place *place
	// namespace is the one that is searched if the user may not list all of them.
	namespace string
	forests   map[string]*objecttree.Forest
	// notes are what was found on the way and led nowhere.
	notes []string
}

func newSearch(connection connect.Connection, at *place) *search {
	return &search{host: connection.Client, place: at, namespace: connection.Namespace, forests: map[string]*objecttree.Forest{}}
}

func (s *search) note(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(s.notes, text) {
		s.notes = append(s.notes, text)
	}
}

// forest reads the trees of a namespace, once.
func (s *search) forest(ctx context.Context, namespace, attempted string) (*objecttree.Forest, error) {
	if known := s.forests[namespace]; known != nil {
		return known, nil
	}
	objects, err := objecttree.Read(ctx, s.host, namespace)
	if err != nil {
		return nil, s.place.access.Explain(err, attempted, namespace)
	}
	s.forests[namespace] = objects.Forest()
	return s.forests[namespace], nil
}

// everywhere reads the trees of all namespaces, or those of one if the user may not.
func (s *search) everywhere(ctx context.Context) (*objecttree.Forest, error) {
	const attempted = "search the inventories of installations"
	forest, err := s.forest(ctx, "", attempted)
	if !apierrors.IsForbidden(err) {
		return forest, err
	}
	s.note("you may not list the installations of all namespaces, so only those of namespace %s were searched", s.namespace)
	return s.forest(ctx, s.namespace, attempted)
}

// manager finds the node in a tree that an object belongs to, and the objects on the way there, the object itself first. Both are nil if
// nothing manages it. Marks decide: they are cheap to follow. Only if there are none, all inventories are searched.
func (s *search) manager(ctx context.Context, o *liveObject) (*objecttree.Node, []*liveObject, error) {
	way := []*liveObject{o}
	for {
		last := way[len(way)-1]
		node, err := s.marked(ctx, last)
		if node != nil || err != nil {
			return node, way, err
		}
		owner, err := s.place.ownerOf(ctx, last)
		if err != nil {
			return nil, nil, err
		}
		if owner == nil || len(way) == maxOwners {
			break
		}
		way = append(way, owner)
	}
	forest, err := s.everywhere(ctx)
	if err != nil {
		return nil, nil, err
	}
	for i, object := range way {
		found := itemsThat(forest, func(item *lsv1alpha1.DeployItem) bool { return remembers(item, object) })
		if len(found) > 0 {
			return found[0], way[:i+1], nil
		}
	}
	return nil, nil, nil
}

// marked finds the node of an object by what the object says of itself.
func (s *search) marked(ctx context.Context, o *liveObject) (*objecttree.Node, error) {
	if node, err := s.itself(ctx, o); node != nil || err != nil {
		return node, err
	}
	if key, found := markOn(o); found {
		if node, err := s.listed(ctx, key, keyOfLive(o)); node != nil || err != nil {
			return node, err
		}
	}
	if key, uid, found := containerMarkOn(o); found && s.place.target == nil {
		if node, err := s.ran(ctx, key, uid); node != nil || err != nil {
			return node, err
		}
	}
	if release, found := releaseOn(o); found {
		return s.released(ctx, release)
	}
	return nil, nil
}

// itself is the node that an object of this API is.
func (s *search) itself(ctx context.Context, o *liveObject) (*objecttree.Node, error) {
	kind := objecttree.Kind(o.Kind)
	known := []objecttree.Kind{objecttree.Installation, objecttree.Execution, objecttree.DeployItem}
	if s.place.target != nil || o.GroupVersionKind().Group != lsv1alpha1.GroupName || !slices.Contains(known, kind) {
		return nil, nil
	}
	forest, err := s.forest(ctx, o.Namespace, "read the installations")
	if err != nil {
		return nil, err
	}
	return forest.Find(kind, o.Namespace, o.Name), nil
}

// item finds the deploy item that a mark names.
func (s *search) item(ctx context.Context, key client.ObjectKey) (*objecttree.Node, error) {
	forest, err := s.forest(ctx, key.Namespace, fmt.Sprintf("look for deploy item %s, which the object is marked with", key))
	if err != nil {
		return nil, err
	}
	node := forest.Find(objecttree.DeployItem, key.Namespace, key.Name)
	if node == nil {
		s.note("it is marked as an object of deploy item %s, which does not exist in this cluster", key)
	}
	return node, nil
}

// listed finds the deploy item that a mark names, if it has the object in its inventory. Copies of objects have copies of their marks.
func (s *search) listed(ctx context.Context, key client.ObjectKey, object objectKey) (*objecttree.Node, error) {
	node, err := s.item(ctx, key)
	if node == nil || err != nil {
		return nil, err
	}
	if item, _ := node.DeployItem(); !lists(item, object) {
		s.note("%s/%s is marked as an object of deploy item %s, which does not list it", object.Kind, object.name, key)
		return nil, nil
	}
	return node, nil
}

// ran finds the deploy item of a pod, or of what it needs, of the container deployer.
func (s *search) ran(ctx context.Context, key client.ObjectKey, uid types.UID) (*objecttree.Node, error) {
	node, err := s.item(ctx, key)
	if node == nil || err != nil {
		return nil, err
	}
	if node.Object.GetUID() != uid {
		s.note("it was made for an earlier deploy item %s, which was deleted", key)
		return nil, nil
	}
	return node, nil
}

// released finds the deploy item that has a release of Helm. Several clusters may have releases of the same name: the record in the cluster
// tells them apart.
func (s *search) released(ctx context.Context, release client.ObjectKey) (*objecttree.Node, error) {
	var made maker
	records, readable := s.place.records(ctx, release)
	if readable {
		made = makerOf(records)
	}
	forest, err := s.everywhereOr(ctx, made.key.Namespace)
	if err != nil {
		return nil, err
	}
	found := itemsThat(forest, func(item *lsv1alpha1.DeployItem) bool { return made.hasRelease(item, release) })
	switch len(found) {
	case 0:
		s.note("it belongs to the Helm release %s, which no deploy item has recorded", release)
		return nil, nil
	case 1:
		return found[0], nil
	}
	var names []string
	for _, node := range found {
		names = append(names, fmt.Sprintf("%s/%s (target %s)", node.Namespace(), node.Name(), node.Target()))
	}
	return nil, &cli.Problem{
		Code: cli.ExitError, Where: s.place.where(release.Namespace),
		What: fmt.Sprintf("cannot tell which deploy item manages it: several have a Helm release %s, and its record does not name one: %s",
			release, strings.Join(names, ", ")),
		Next: []string{"use a credential that may list Secrets in namespace " + release.Namespace + ": the record of the release is one"},
	}
}

func (s *search) everywhereOr(ctx context.Context, namespace string) (*objecttree.Forest, error) {
	if namespace == "" {
		return s.everywhere(ctx)
	}
	return s.forest(ctx, namespace, "look for the deploy item that the record of the release names")
}

func itemsThat(forest *objecttree.Forest, holds func(*lsv1alpha1.DeployItem) bool) []*objecttree.Node {
	var found []*objecttree.Node
	for _, node := range itemsBelow(forest.Tops) {
		if item, _ := node.DeployItem(); holds(item) {
			found = append(found, node)
		}
	}
	return found
}

// nameTargets gives the Targets of deploy items the names that people know, as far as the trees that were read tell.
func (s *search) nameTargets(ctx context.Context, chain []link) {
	for i, l := range chain {
		if l.Target == "" {
			continue
		}
		forest := s.forests[""]
		if forest == nil {
			forest = s.forests[l.Namespace]
		}
		if forest != nil {
			chain[i].TargetName = objecttree.ReadOrigins(ctx, s.host, forest, l.Namespace).Name(l.Namespace, l.Target)
		}
	}
}

// chain is a node with everything above it. A root installation that a deploy item of this cluster has deployed is not the end.
func (s *search) chain(ctx context.Context, node *objecttree.Node) []*objecttree.Node {
	var links []*objecttree.Node
	for node != nil && !slices.Contains(links, node) && len(links) < maxLinks {
		links = append(links, node)
		if node.Above != nil {
			node = node.Above
			continue
		}
		node = s.deployerOf(ctx, node)
	}
	return links
}

// deployerOf is the deploy item that has deployed the top of a tree; nil also if it cannot be found out.
func (s *search) deployerOf(ctx context.Context, top *objecttree.Node) *objecttree.Node {
	key, marked := markOn(top.Object)
	if !marked || top.Kind != objecttree.Installation {
		return nil
	}
	object := keyOf(objecttree.DeployedObject{
		APIVersion: lsv1alpha1.SchemeGroupVersion.String(), Kind: string(top.Kind), Namespace: top.Namespace(), Name: top.Name(),
	})
	node, err := s.listed(ctx, key, object)
	if err != nil {
		return nil
	}
	return node
}

// origins finds the pipelines that have set revisions. A user who may not list all pipelines sees those beside the installation.
func (s *search) origins(ctx context.Context, subjects []subject) []origin {
	if len(subjects) == 0 {
		return []origin{}
	}
	var list pipelines.PipelineList
	err := s.host.List(ctx, &list)
	if apierrors.IsForbidden(err) {
		err = s.host.List(ctx, &list, client.InNamespace(subjects[0].Namespace))
	}
	if err != nil && !apierrors.IsNotFound(err) { // A cluster without this kind has no pipelines.
		s.place.access.Tell("Cannot read pipelines, so that promotions are left out: %v", err)
	}
	return originsOf(list.Items, subjects)
}
