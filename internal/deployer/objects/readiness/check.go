// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package readiness

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"espalier.dev/api/deployer"
	"espalier.dev/internal/deployer/objects/cluster"
)

// Checks are the custom checks of a deploy item.
type Checks struct {
	Custom  []deployer.CustomReadinessCheck
	Cluster cluster.Cluster
	Find    cluster.Finder
}

// Pass returns the unmet checks; nil if all checks are met.
func (c Checks) Pass(ctx context.Context) (*cluster.Wait, error) {
	var pending []cluster.Pending
	for _, check := range c.Custom {
		if check.Disabled {
			continue
		}
		missing, err := c.passOne(ctx, check)
		if err != nil {
			return nil, fmt.Errorf("readiness check %s: %w", check.Name, err)
		}
		for i := range missing {
			missing[i].Missing = fmt.Sprintf("readiness check %s: %s", check.Name, missing[i].Missing)
		}
		pending = append(pending, missing...)
	}
	return cluster.Await(cluster.WaitingForCheck, pending), nil
}

func (c Checks) passOne(ctx context.Context, check deployer.CustomReadinessCheck) ([]cluster.Pending, error) {
	target, err := c.Find.Choose(ctx, c.Cluster, check.TargetName)
	if err != nil {
		return nil, err
	}
	requirements, err := compile(check.Requirements)
	if err != nil {
		return nil, err
	}
	pending, err := c.passNamed(ctx, target, check, requirements)
	if err != nil || check.LabelSelector == nil {
		return pending, err
	}
	labelled, err := passLabelled(ctx, target, *check.LabelSelector, requirements)
	return append(pending, labelled...), err
}

func (c Checks) passNamed(
	ctx context.Context,
	target cluster.Cluster,
	check deployer.CustomReadinessCheck,
	requirements []requirement,
) ([]cluster.Pending, error) {
	var pending []cluster.Pending
	for _, chosen := range check.ResourceSelector {
		subject := cluster.Subject{
			Cluster: target,
			GVK:     schema.FromAPIVersionAndKind(chosen.APIVersion, chosen.Kind),
			Key:     client.ObjectKey{Namespace: chosen.Namespace, Name: chosen.Name},
		}
		live, err := subject.Read(ctx)
		if apierrors.IsNotFound(err) || meta.IsNoMatchError(err) {
			pending = append(pending, cluster.Pending{Subject: subject, Missing: "does not exist"})
			continue
		}
		if err != nil {
			return nil, cluster.Refused("read", subject, err)
		}
		if missing := firstUnmet(requirements, live); missing != "" {
			pending = append(pending, cluster.Pending{Subject: subject, Missing: missing})
		}
	}
	return pending, nil
}

// passLabelled requires that all objects with certain labels meet the requirements, and that at least one such object
// exists.
func passLabelled(
	ctx context.Context,
	target cluster.Cluster,
	selector deployer.LabelSelector,
	requirements []requirement,
) ([]cluster.Pending, error) {
	every := cluster.Subject{Cluster: target, GVK: schema.FromAPIVersionAndKind(selector.APIVersion, selector.Kind)}
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(every.GVK.GroupVersion().WithKind(every.GVK.Kind + "List"))
	err := target.Client().List(ctx, list, client.MatchingLabels(selector.MatchLabels))
	if err != nil && !meta.IsNoMatchError(err) {
		return nil, cluster.Refused("list", every, err)
	}
	if len(list.Items) == 0 {
		return []cluster.Pending{{Subject: every, Missing: fmt.Sprintf("no object has the labels %v", selector.MatchLabels)}}, nil
	}
	var pending []cluster.Pending
	for i := range list.Items {
		if missing := firstUnmet(requirements, &list.Items[i]); missing != "" {
			pending = append(pending, cluster.Pending{Subject: cluster.SubjectOf(target, &list.Items[i]), Missing: missing, Watched: &every})
		}
	}
	return pending, nil
}
