// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package export reads values for the exports of a deploy item from objects in clusters. Values never appear in errors or in
// wait messages.
package export

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"espalier.dev/api/deployer"
	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/deployer/objects/cluster"
	"espalier.dev/internal/deployer/objects/jsonpath"
	"espalier.dev/internal/failure"
)

// Reader reads the exports of a deploy item.
type Reader struct {
	Exports []deployer.Export
	Cluster cluster.Cluster
	Find    cluster.Finder
}

// Pass reads all values. If values are missing, it returns a Wait, and the result is incomplete.
func (r Reader) Pass(ctx context.Context) (map[string]any, *cluster.Wait, error) {
	values := map[string]any{}
	var pending []cluster.Pending
	for _, export := range r.Exports {
		value, missing, err := r.readOne(ctx, export)
		if err != nil {
			return nil, nil, fmt.Errorf("export %s: %w", export.Key, err)
		}
		if missing != nil {
			missing.Missing = fmt.Sprintf("export %s: %s", export.Key, missing.Missing)
			pending = append(pending, *missing)
			continue
		}
		values[export.Key] = value
	}
	return values, cluster.Await(cluster.WaitingForExport, pending), nil
}

func (r Reader) readOne(ctx context.Context, export deployer.Export) (any, *cluster.Pending, error) {
	target, err := r.Find.Choose(ctx, r.Cluster, export.TargetName)
	if err != nil {
		return nil, nil, err
	}
	from := cluster.Subject{
		Cluster: target,
		GVK:     schema.FromAPIVersionAndKind(export.FromResource.APIVersion, export.FromResource.Kind),
		Key:     client.ObjectKey{Namespace: export.FromResource.Namespace, Name: export.FromResource.Name},
	}
	value, missing, err := valueOf(ctx, from, export.JSONPath)
	if err != nil || missing != nil || export.FromObjectReference == nil {
		return value, missing, err
	}
	referred, err := follow(from, *export.FromObjectReference, value)
	if err != nil {
		return nil, nil, err
	}
	return valueOf(ctx, referred, export.FromObjectReference.JSONPath)
}

func valueOf(ctx context.Context, from cluster.Subject, path string) (any, *cluster.Pending, error) {
	compiled, err := jsonpath.Parse(path)
	if err != nil {
		return nil, nil, invalid("jsonPath %w", err)
	}
	live, err := from.Read(ctx)
	if apierrors.IsNotFound(err) || meta.IsNoMatchError(err) {
		return nil, &cluster.Pending{Subject: from, Missing: "the object does not exist"}, nil
	}
	if err != nil {
		return nil, nil, cluster.Refused("read", from, err)
	}
	value, found := compiled.Find(live.Object)
	if !found {
		return nil, &cluster.Pending{Subject: from, Missing: "no value at " + path}, nil
	}
	return value, nil, nil
}

// follow returns the object that a reference names. A reference without a namespace refers to the namespace of the
// referring object.
func follow(from cluster.Subject, how deployer.FromObjectReference, reference any) (cluster.Subject, error) {
	fields, _ := reference.(map[string]any)
	name, _, _ := unstructured.NestedString(fields, "name")
	if name == "" {
		return cluster.Subject{}, invalid("jsonPath must point to a reference in %s: an object with the field name", from)
	}
	namespace, _, _ := unstructured.NestedString(fields, "namespace")
	if namespace == "" {
		namespace = from.Key.Namespace
	}
	return cluster.Subject{
		Cluster: from.Cluster,
		GVK:     schema.FromAPIVersionAndKind(how.APIVersion, how.Kind),
		Key:     client.ObjectKey{Namespace: namespace, Name: name},
	}, nil
}

func invalid(format string, args ...any) error {
	details := failure.Details{Operation: "Export", Reason: "InvalidExport", Codes: []string{string(lsv1alpha1.ErrorConfigurationProblem)}}
	return failure.Terminalf(details, format, args...)
}
