// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package connect

import (
	"context"
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

// CompleteInstallations offers the names of the installations in the user's namespace. Names that are on the command
// line already are left out.
func (a *Access) CompleteInstallations(which Which) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, toComplete string) ([]cobra.Completion, cobra.ShellCompDirective) {
		namespace, err := a.Namespace()
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		options := &client.ListOptions{Namespace: namespace}
		if which == RootInstallations {
			options.LabelSelector = unlabelled(lsv1alpha1.EncompassedByLabel)
		}
		names := a.names(cmd, lsv1alpha1.SchemeGroupVersion.WithKind("InstallationList"), options)
		names = slices.DeleteFunc(names, func(name string) bool { return slices.Contains(args, name) })
		return beginningWith(toComplete, names), cobra.ShellCompDirectiveNoFileComp
	}
}

// CompleteTargets offers the names of the Targets in the user's namespace, without the copies that installations make of those that they
// import. Names that are on the command line already are left out.
func (a *Access) CompleteTargets(cmd *cobra.Command, args []string, toComplete string) ([]cobra.Completion, cobra.ShellCompDirective) {
	namespace, err := a.Namespace()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	names := a.names(cmd, lsv1alpha1.SchemeGroupVersion.WithKind("TargetList"),
		&client.ListOptions{Namespace: namespace, LabelSelector: unlabelled(lsv1alpha1.DataObjectContextLabel)})
	names = slices.DeleteFunc(names, func(name string) bool { return slices.Contains(args, name) })
	return beginningWith(toComplete, names), cobra.ShellCompDirectiveNoFileComp
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

func beginningWith(prefix string, names []string) []string {
	return slices.DeleteFunc(names, func(name string) bool { return !strings.HasPrefix(name, prefix) })
}
