// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package connect

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/cli"
	"espalier.dev/internal/objecttree"
)

const selectorFlag = "selector"

// ErrNamesAndSelector is the error for installations that are named and chosen by labels at once.
var ErrNamesAndSelector = errors.New("names and --selector do not go together: leave out one of them")

// AddSelector adds the flag -l, with which users choose installations by their labels instead of naming them.
func (a *Access) AddSelector(which Which) {
	usage := "installations with these labels, such as team=shop, instead of names"
	if which == RootInstallations {
		usage = "root installations with these labels, such as team=shop, instead of names; nested ones are left out"
	}
	a.cmd.Flags().StringP(selectorFlag, "l", "", usage)
}

// Selector returns the labels that the user demands, nil if the flag is not set. An empty selector, which may come from an unset variable
// of a script, is an error, since it would match everything.
func (a *Access) Selector() (labels.Selector, error) {
	flag := a.cmd.Flags().Lookup(selectorFlag)
	if flag == nil || !flag.Changed {
		return nil, nil
	}
	selector, err := labels.Parse(flag.Value.String())
	switch {
	case err != nil:
		return nil, fmt.Errorf("--selector: %w", err)
	case selector.Empty():
		return nil, errors.New("--selector is empty and would match every installation: set labels, such as team=shop")
	}
	return selector, nil
}

// NamesOrSelector checks that arguments name installations, at least as many as a command needs, or that a selector chooses them.
func (a *Access) NamesOrSelector(fewest int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, names []string) error {
		selector, err := a.Selector()
		switch {
		case err != nil:
			return err
		case selector != nil && len(names) > 0:
			return ErrNamesAndSelector
		case selector == nil && len(names) < fewest:
			return cli.Misused(cmd, errors.New("name installations, or choose them by their labels with --selector"))
		}
		return nil
	}
}

// Choose returns the installations that arguments name or the selector matches, or all tops of the forest if there is neither. What is
// nested in an installation that matches is part of that tree, and not chosen again.
func (a *Access) Choose(forest *objecttree.Forest, namespace string, names []string) ([]*objecttree.Node, error) {
	selector, err := a.Selector()
	if err != nil {
		return nil, err
	}
	if selector == nil || len(names) > 0 {
		return a.Select(forest, namespace, names)
	}
	chosen := topmost(forest.Tops, selector)
	if len(chosen) == 0 {
		return nil, a.nothingMatches(namespace, selector)
	}
	return chosen, nil
}

// topmost returns the installations that match and are not below another one that does.
func topmost(nodes []*objecttree.Node, selector labels.Selector) []*objecttree.Node {
	var found []*objecttree.Node
	for _, node := range nodes {
		if node.Kind == objecttree.Installation && selector.Matches(labels.Set(node.Object.GetLabels())) {
			found = append(found, node)
			continue
		}
		found = append(found, topmost(node.Below, selector)...)
	}
	return found
}

// ChooseRoots reads the root installations of the namespace that the selector matches.
func (c Connection) ChooseRoots(ctx context.Context, selector labels.Selector) ([]*lsv1alpha1.Installation, error) {
	var all lsv1alpha1.InstallationList
	if err := c.Client.List(ctx, &all, client.InNamespace(c.Namespace), client.MatchingLabelsSelector{Selector: selector}); err != nil {
		return nil, c.Access.Explain(err, "list the installations that match --selector "+selector.String(), c.Namespace)
	}
	var roots []*lsv1alpha1.Installation
	for i := range all.Items {
		if objecttree.ParentOf(&all.Items[i]) == "" {
			roots = append(roots, &all.Items[i])
		}
	}
	switch {
	case len(all.Items) == 0:
		return nil, c.Access.nothingMatches(c.Namespace, selector)
	case len(roots) == 0:
		return nil, &cli.Problem{
			Code: cli.ExitNotFound, Where: c.Access.Where(c.Namespace),
			What: fmt.Sprintf("only nested installations match --selector %s, and jobs run through whole trees: choose their roots", selector),
			Next: []string{c.Access.Suggest(c.Namespace, "get", "--nested", "--selector="+selector.String())},
		}
	}
	return roots, nil
}

func (a *Access) nothingMatches(namespace string, selector labels.Selector) error {
	look := []string{"get", "--nested", "-o", "wide"}
	if namespace == "" {
		look = append(look, "-A")
	}
	return &cli.Problem{
		Code: cli.ExitNotFound, What: "no installation matches --selector " + selector.String(),
		Where: a.Where(namespace), Next: []string{a.Suggest(namespace, look...)},
	}
}
