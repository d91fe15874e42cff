// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package connect

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/selection"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
)

// completionTime is how long a shell may hang after the tab key.
const completionTime = 3 * time.Second

// Which installations a command takes.
type Which int

const (
	// AllInstallations are the roots and those that are nested in others.
	AllInstallations Which = iota
	// RootInstallations are those that users start, interrupt and delete.
	RootInstallations
)

// CompleteInstallations offers the names of the installations in the user's namespace.
func (a *Access) CompleteInstallations(which Which) cobra.CompletionFunc {
	if which == RootInstallations {
		return a.completeNames("Installation", unlabelled(lsv1alpha1.EncompassedByLabel))
	}
	return a.completeNames("Installation", labels.Everything())
}

// CompleteTargets offers the names of the Targets in the user's namespace, without the copies that installations make of those that they
// import.
func (a *Access) CompleteTargets() cobra.CompletionFunc {
	return a.completeNames("Target", unlabelled(lsv1alpha1.DataObjectContextLabel))
}

// CompleteDataObjects offers the names of the DataObjects that root installations can import.
func (a *Access) CompleteDataObjects() cobra.CompletionFunc {
	return a.completeNames("DataObject", unlabelled(lsv1alpha1.DataObjectContextLabel))
}

// CompleteContexts offers the names of the Contexts in the user's namespace.
func (a *Access) CompleteContexts() cobra.CompletionFunc {
	return a.completeNames("Context", labels.Everything())
}

// CompleteTargetSyncs offers the names of the TargetSyncs in the user's namespace.
func (a *Access) CompleteTargetSyncs() cobra.CompletionFunc {
	return a.completeNames("TargetSync", labels.Everything())
}

// TreeKinds complete the names behind each kind that trees consist of.
func (a *Access) TreeKinds() map[string]cobra.CompletionFunc {
	return map[string]cobra.CompletionFunc{
		"installation": a.CompleteInstallations(AllInstallations),
		"execution":    a.completeNames("Execution", labels.Everything()),
		"deployitem":   a.completeNames("DeployItem", labels.Everything()),
	}
}

// CompleteKinds completes KIND/NAME for some kinds, and what has no kind with another function.
func CompleteKinds(kinds map[string]cobra.CompletionFunc, otherwise cobra.CompletionFunc) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, toComplete string) ([]cobra.Completion, cobra.ShellCompDirective) {
		kind, name, found := strings.Cut(toComplete, "/")
		if !found {
			return otherwise(cmd, args, toComplete)
		}
		complete, known := kinds[strings.ToLower(kind)]
		if !known {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		names, directive := complete(cmd, nil, name)
		return without(args, WithPrefix(kind+"/", names)), directive
	}
}

// CompleteOne completes a single argument.
func CompleteOne(complete cobra.CompletionFunc) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, toComplete string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return complete(cmd, args, toComplete)
	}
}

// CompleteFlag completes the value of a flag that the command has.
func CompleteFlag(cmd *cobra.Command, flag string, complete cobra.CompletionFunc) {
	if err := cmd.RegisterFlagCompletionFunc(flag, complete); err != nil {
		panic(err) // Commands complete only their own flags.
	}
}

// completeNames offers the names of the objects of one of our kinds in the user's namespace. Names that are on the command line already are
// left out.
func (a *Access) completeNames(kind string, selector labels.Selector) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, toComplete string) ([]cobra.Completion, cobra.ShellCompDirective) {
		namespace, err := a.Namespace()
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		names := a.names(cmd, lsv1alpha1.SchemeGroupVersion.WithKind(kind+"List"), &client.ListOptions{Namespace: namespace, LabelSelector: selector})
		return without(args, beginningWith(toComplete, names)), cobra.ShellCompDirectiveNoFileComp
	}
}

// completeOfKubeconfig offers the contexts of the kubeconfig.
func (a *Access) completeOfKubeconfig(_ *cobra.Command, _ []string, toComplete string) ([]cobra.Completion, cobra.ShellCompDirective) {
	a.chooseKubeconfig()
	config, err := a.flags.ToRawKubeConfigLoader().RawConfig()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return beginningWith(toComplete, slices.Sorted(maps.Keys(config.Contexts))), cobra.ShellCompDirectiveNoFileComp
}

func (a *Access) completeNamespaces(cmd *cobra.Command, _ []string, toComplete string) ([]cobra.Completion, cobra.ShellCompDirective) {
	names := a.names(cmd, corev1.SchemeGroupVersion.WithKind("NamespaceList"), &client.ListOptions{})
	return beginningWith(toComplete, names), cobra.ShellCompDirectiveNoFileComp
}

// names returns nothing when something is wrong: a shell has no place for errors.
func (a *Access) names(cmd *cobra.Command, kind schema.GroupVersionKind, options *client.ListOptions) []string {
	c, err := a.Client()
	if err != nil {
		return nil
	}
	ctx, cancel := CompletionContext(cmd)
	defer cancel()
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(kind)
	if err := c.List(ctx, list, options); err != nil {
		return nil
	}
	var names []string
	for _, item := range list.Items {
		names = append(names, item.Name)
	}
	return names
}

// CompletionContext ends before the user of a shell loses patience.
func CompletionContext(cmd *cobra.Command) (context.Context, context.CancelFunc) {
	parent := cmd.Context()
	if parent == nil {
		parent = context.Background()
	}
	return context.WithTimeout(parent, completionTime)
}

func unlabelled(key string) labels.Selector {
	requirement, err := labels.NewRequirement(key, selection.DoesNotExist, nil)
	if err != nil {
		panic(err) // The key is a constant.
	}
	return labels.NewSelector().Add(*requirement)
}

// WithPrefix returns names with a prefix.
func WithPrefix(prefix string, names []string) []string {
	for i := range names {
		names[i] = prefix + names[i]
	}
	return names
}

func without(known, names []string) []string {
	return slices.DeleteFunc(names, func(name string) bool { return slices.Contains(known, name) })
}

func beginningWith(prefix string, names []string) []string {
	return slices.DeleteFunc(names, func(name string) bool { return !strings.HasPrefix(name, prefix) })
}
