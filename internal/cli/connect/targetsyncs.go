// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package connect

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/cli"
)

// IsTargetSync reports whether an argument is the kind TargetSync, as people write it who know kubectl.
func IsTargetSync(kind string) bool {
	kind, _, _ = strings.Cut(strings.ToLower(kind), ".")
	return slices.Contains([]string{"targetsync", "targetsyncs", "tgs"}, kind)
}

// ReadTargetSyncs reads the TargetSyncs of the user's namespace, or of all namespaces if that is wanted; then the namespace that it
// returns is empty.
func (a *Access) ReadTargetSyncs(ctx context.Context, names []string) ([]lsv1alpha1.TargetSync, string, error) {
	if a.allNamespaces && len(names) > 0 {
		return nil, "", errors.New("names and --all-namespaces do not go together: name the namespace with -n")
	}
	connection, err := a.Connect()
	if err != nil {
		return nil, "", err
	}
	namespace := connection.Namespace
	if a.allNamespaces {
		namespace = ""
	}
	var all lsv1alpha1.TargetSyncList
	if err := connection.Client.List(ctx, &all, client.InNamespace(namespace)); err != nil {
		return nil, "", a.Explain(err, "list TargetSyncs", namespace)
	}
	for _, name := range names {
		if !slices.ContainsFunc(all.Items, func(ts lsv1alpha1.TargetSync) bool { return ts.Name == name }) {
			return nil, "", &cli.Problem{
				Code: cli.ExitNotFound, What: fmt.Sprintf("TargetSync %s does not exist", name), Where: a.Where(namespace),
				Next: []string{a.Suggest(namespace, "get", "targetsyncs")},
			}
		}
	}
	return all.Items, namespace, nil
}

// OtherTargetSyncs are the names of those beside one, in its namespace.
func OtherTargetSyncs(all []lsv1alpha1.TargetSync, ts *lsv1alpha1.TargetSync) []string {
	var names []string
	for i := range all {
		if all[i].Namespace == ts.Namespace && all[i].Name != ts.Name {
			names = append(names, all[i].Name)
		}
	}
	return names
}
