// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package request asks the controllers to do something with a tree of installations: to run a job, to interrupt one, to
// delete the tree. Requests go to the root; for a nested installation, the error names its root.
package request

import (
	"cmp"
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/cli"
	"espalier.dev/internal/cli/connect"
	"espalier.dev/internal/objecttree"
)

// Requester asks the controllers for something.
type Requester struct {
	connect.Connection
	// Waits reports whether the user wants to wait for what is asked.
	Waits bool
}

// NewRequester connects to the user's cluster and namespace.
func NewRequester(access *connect.Access) (*Requester, error) {
	connection, err := access.Connect()
	return &Requester{Connection: connection}, err
}

// Roots reads the root installations that arguments name, or that the selector of the command matches. A name that belongs to none is an
// error that says what to do instead with the verb, which is the command's name, and its flags.
func (r *Requester) Roots(ctx context.Context, arguments []string, verb ...string) ([]*lsv1alpha1.Installation, error) {
	selector, err := r.Access.Selector()
	if err != nil {
		return nil, err
	}
	if selector != nil && len(arguments) == 0 {
		return r.ChooseRoots(ctx, selector)
	}
	names, err := objecttree.InstallationNames(arguments)
	if err != nil {
		return nil, err
	}
	var roots []*lsv1alpha1.Installation
	for _, name := range names {
		installation, err := r.read(ctx, name)
		if err != nil {
			return nil, err
		}
		if objecttree.ParentOf(installation) != "" {
			return nil, r.nested(ctx, installation, verb)
		}
		roots = append(roots, installation)
	}
	return roots, nil
}

// maxDepth ends the search for a root among labels that lead in a circle.
const maxDepth = 100

// phrases are what commands do whose names are no verbs.
var phrases = map[string]string{"history": "show the history of", "rollback": "roll back"}

// nested is the error for an installation that is no root.
func (r *Requester) nested(ctx context.Context, installation *lsv1alpha1.Installation, verb []string) error {
	problem := &cli.Problem{
		Code:  cli.ExitError,
		Where: r.Access.Where(r.Namespace),
		What: fmt.Sprintf(
			"installation %s is nested in another one, and jobs run through whole trees: cannot %s it alone",
			installation.Name,
			cmp.Or(phrases[verb[0]], verb[0]),
		),
	}
	root := installation.DeepCopy()
	for depth := 0; objecttree.ParentOf(root) != "" && depth < maxDepth; depth++ {
		parent := objecttree.ParentOf(root)
		err := r.Client.Get(ctx, client.ObjectKey{Namespace: r.Namespace, Name: parent}, root)
		if apierrors.IsNotFound(err) {
			problem.What += fmt.Sprintf("; the installation %s that it belongs to does not exist", parent)
			return problem
		}
		if err != nil {
			return r.Access.Explain(err, "read installation "+parent, r.Namespace)
		}
	}
	problem.What += "; its root is installation " + root.Name
	arguments := append([]string{verb[0], root.Name}, verb[1:]...)
	problem.Next = []string{r.Access.Suggest(r.Namespace, arguments...)}
	return problem
}
