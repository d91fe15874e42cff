// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package connect

import (
	"context"
	"errors"
	"fmt"

	"espalier.dev/internal/cli"
	"espalier.dev/internal/objecttree"
)

// ReadForest reads all trees of the user's namespace, or of all namespaces if that is wanted; then the namespace that
// it returns is empty. Names of single installations and all namespaces do not go together.
func (a *Access) ReadForest(ctx context.Context, names []string) (*objecttree.Forest, string, error) {
	if a.allNamespaces && len(names) > 0 {
		return nil, "", errors.New("names and --all-namespaces do not go together: name the namespace with -n")
	}
	namespace, err := a.Namespace()
	if err != nil {
		return nil, "", err
	}
	if a.allNamespaces {
		namespace = ""
	}
	c, err := a.Client()
	if err != nil {
		return nil, "", err
	}
	objects, err := objecttree.Read(ctx, c, namespace)
	if err != nil {
		return nil, "", a.Explain(err, "read the installations", namespace)
	}
	return objects.Forest(), namespace, nil
}

// Trees reads installations with everything below them, and returns those that are asked for: see Choose.
func (a *Access) Trees(ctx context.Context, names []string) ([]*objecttree.Node, error) {
	forest, namespace, err := a.ReadForest(ctx, names)
	if err != nil {
		return nil, err
	}
	return a.Choose(forest, namespace, names)
}

// Select returns the installations that arguments name, or all tops of the forest if there are none.
func (a *Access) Select(forest *objecttree.Forest, namespace string, arguments []string) ([]*objecttree.Node, error) {
	if len(arguments) == 0 {
		return forest.Tops, nil
	}
	names, err := objecttree.InstallationNames(arguments)
	if err != nil {
		return nil, err
	}
	var nodes []*objecttree.Node
	for _, name := range names {
		node := forest.Installation(namespace, name)
		if node == nil {
			return nil, a.NotFound(namespace, name)
		}
		nodes = append(nodes, node)
	}
	return nodes, nil
}

// NotFound is the error for an installation that does not exist.
func (a *Access) NotFound(namespace, name string) error {
	return &cli.Problem{
		Code: cli.ExitNotFound, What: fmt.Sprintf("installation %s does not exist", name), Where: a.Where(namespace),
		Next: []string{a.Suggest(namespace, "get", "--nested")},
	}
}
