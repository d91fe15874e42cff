// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package request

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/cli"
	"espalier.dev/internal/objecttree"
)

// conclude finds out why a forced deletion has not ended in time. If the controllers do not answer, it says how to end it by hand.
func (o *deleteOptions) conclude(ctx context.Context, requester *Requester, err error) error {
	var problem *cli.Problem
	if !o.force || !errors.As(err, &problem) || problem.Code != cli.ExitTimeout && problem.Code != cli.ExitNeedsSomebody {
		return err
	}
	forest, namespace, failed := requester.Access.ReadForest(ctx, namesOf(o.asked))
	if failed != nil {
		return err // The caller knows at least that the time is up.
	}
	u := unfinishedOf(o.asked, func(name string) *objecttree.Node { return forest.Installation(namespace, name) })
	var problems []*cli.Problem
	if u.others {
		problems = append(problems, problem)
	}
	if len(u.silent) > 0 {
		problems = append(problems, requester.silence(u.silent))
	}
	if len(u.blocked) > 0 {
		problems = append(problems, requester.blockade(u.blocked))
	}
	return cli.Together(problems, err)
}

// unfinished are the trees of a forced deletion that still exist.
type unfinished struct {
	// silent are those that no controller has touched.
	silent []*objecttree.Node
	// blocked are those that only finalizers of other controllers keep.
	blocked []*objecttree.Node
	// others reports whether there are more.
	others bool
}

func unfinishedOf(asked []*objecttree.Node, now func(name string) *objecttree.Node) unfinished {
	var u unfinished
	for _, before := range asked {
		tree := now(before.Name())
		switch {
		case tree == nil || tree.Object.GetUID() != before.Object.GetUID(): // It is gone.
		case onlyForeign(tree):
			u.blocked = append(u.blocked, tree)
		case !answered(before, tree):
			u.silent = append(u.silent, tree)
		default:
			u.others = true
		}
	}
	return u
}

// silence is the problem that no controller works on trees.
func (r *Requester) silence(trees []*objecttree.Node) *cli.Problem {
	problem := &cli.Problem{
		Code: cli.ExitNeedsSomebody, Where: r.Access.Where(r.Namespace),
		What: fmt.Sprintf("timed out waiting for the deletion of %s: the controllers do not answer", installations(namesOf(trees))),
		Next: []string{
			r.Access.Suggest(r.Namespace, "check"),
			"start the controllers, which finish the deletion; or, if they are gone for good, remove their finalizers yourself:",
		},
	}
	for _, tree := range trees {
		problem.Next = append(problem.Next, r.byHand(tree)...)
	}
	if foreign := foreignFinalizers(trees); len(foreign) > 0 {
		problem.Next = append(problem.Next, "other controllers must remove their own finalizers: "+strings.Join(foreign, ", "))
	}
	return problem
}

// blockade is the problem that only finalizers of other controllers keep trees.
func (r *Requester) blockade(trees []*objecttree.Node) *cli.Problem {
	return &cli.Problem{
		Code: cli.ExitNeedsSomebody, Where: r.Access.Where(r.Namespace),
		What: fmt.Sprintf("timed out waiting for the deletion of %s: finalizers of other controllers block it: %s",
			installations(namesOf(trees)), strings.Join(foreignFinalizers(trees), ", ")),
		Next: []string{"find the controller that owns each finalizer"},
	}
}

func namesOf(trees []*objecttree.Node) []string {
	var names []string
	for _, tree := range trees {
		names = append(names, tree.Name())
	}
	return names
}

// trace is what controllers change of an object that is being deleted.
type trace struct {
	Status     any
	Finalizers []string
	Deleting   bool
}

// answered reports whether the controllers have changed anything in a tree since its deletion was requested.
func answered(before, now *objecttree.Node) bool {
	return !equality.Semantic.DeepEqual(tracesIn(before), tracesIn(now))
}

func tracesIn(tree *objecttree.Node) map[types.UID]trace {
	traces := map[types.UID]trace{}
	tree.Walk(func(node *objecttree.Node) {
		// The deletion of the root is the request.
		found := trace{Finalizers: node.Object.GetFinalizers(), Deleting: node != tree && !node.Object.GetDeletionTimestamp().IsZero()}
		switch object := node.Object.(type) {
		case *lsv1alpha1.Installation:
			found.Status = object.Status
		case *lsv1alpha1.Execution:
			found.Status = object.Status
		case *lsv1alpha1.DeployItem:
			found.Status = object.Status
		}
		traces[node.Object.GetUID()] = found
	})
	return traces
}

// onlyForeign reports whether a tree is kept by finalizers, and by none of ours.
func onlyForeign(tree *objecttree.Node) bool {
	own := false
	tree.Walk(func(node *objecttree.Node) {
		own = own || slices.Contains(node.Object.GetFinalizers(), lsv1alpha1.Finalizer)
	})
	return !own && len(foreignFinalizers([]*objecttree.Node{tree})) > 0
}

// foreignFinalizers describes the finalizers of other controllers in trees.
func foreignFinalizers(trees []*objecttree.Node) []string {
	var found []string
	for _, tree := range trees {
		tree.Walk(func(node *objecttree.Node) {
			for _, finalizer := range foreign(node) {
				found = append(found, fmt.Sprintf("%s of %s %s", finalizer, strings.ToLower(string(node.Kind)), node.Name()))
			}
		})
	}
	return found
}

// foreign returns the finalizers of other controllers, nil if there are none.
func foreign(node *objecttree.Node) []string {
	var others []string
	for _, finalizer := range node.Object.GetFinalizers() {
		if finalizer != lsv1alpha1.Finalizer {
			others = append(others, finalizer)
		}
	}
	return others
}

// byHand returns the commands that remove our finalizers from a tree, from the bottom up. They fail if the object has changed since.
func (r *Requester) byHand(tree *objecttree.Node) []string {
	var commands []string
	for _, below := range tree.Below {
		commands = append(commands, r.byHand(below)...)
	}
	if !slices.Contains(tree.Object.GetFinalizers(), lsv1alpha1.Finalizer) {
		return commands
	}
	patch, _ := json.Marshal(map[string]any{"metadata": map[string]any{
		"finalizers": foreign(tree), "resourceVersion": tree.Object.GetResourceVersion(),
	}})
	return append(commands, r.Access.SuggestKubectl(r.Namespace, "patch", strings.ToLower(string(tree.Kind)), tree.Name(),
		"--type=merge", "-p", string(patch)))
}
