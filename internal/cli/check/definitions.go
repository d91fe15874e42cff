// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"context"
	"fmt"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"espalier.dev/config/crd"
	"espalier.dev/internal/definitions"
)

// shownFields is how many fields a finding names.
const shownFields = 3

const applyDefinitions = "apply the CRDs of this version: kubectl apply --server-side --force-conflicts -f crds.yaml; " +
	"or start espalier-controller with --install-crds"

// definitions compares the definitions in the cluster with those of this build.
func (e *examination) definitions(ctx context.Context) {
	wanted, err := crd.All()
	if err != nil {
		e.unknown("the CRDs of this build", err)
		return
	}
	for _, own := range wanted {
		object := "CustomResourceDefinition " + own.Name
		there := &apiextensionsv1.CustomResourceDefinition{}
		err := e.Client.Get(ctx, client.ObjectKey{Name: own.Name}, there)
		switch {
		case apierrors.IsNotFound(err):
			if !e.Before {
				e.add(Wrong, object, "does not exist, so its objects cannot exist", applyDefinitions)
			}
		case apierrors.IsForbidden(err):
			e.served(wanted, err)
			return
		case err != nil:
			e.unknown(object, err)
		case e.Before:
			e.replaceable(object, there, own)
		default:
			e.compare(object, there, own)
		}
	}
}

// served asks discovery, which everybody may, where definitions cannot be read.
func (e *examination) served(wanted []*apiextensionsv1.CustomResourceDefinition, cause error) {
	_, lists, err := e.Discovery.ServerGroupsAndResources()
	if missing := definitions.FirstMissing(wanted, lists); missing != "" && !e.Before {
		e.add(Wrong, missing, "is not served by the cluster", applyDefinitions)
		return
	}
	if err != nil {
		cause = err
	}
	e.unknown("the CRDs", cause)
}

// replaceable checks before an installation whether the CRD of this build can replace the existing one.
func (e *examination) replaceable(object string, there, own *apiextensionsv1.CustomResourceDefinition) {
	options := definitions.Options{Version: e.report.Client}
	if err := definitions.Refusal(there, own, options); err != nil {
		e.add(Wrong, object, err.Error())
		return
	}
	if lost := definitions.Missing(there, own); len(lost) > 0 {
		e.add(Doubtful, object, fmt.Sprintf("exists and has fields that the CRD of this version lacks: %s", some(lost)),
			"see docs/migration.md for what happens to them, and keep a copy: kubectl get "+own.Name+" -A -o yaml")
	}
}

func (e *examination) compare(object string, there, own *apiextensionsv1.CustomResourceDefinition) {
	switch {
	case there.DeletionTimestamp != nil:
		e.add(Wrong, object, "is being deleted, and all its objects with it: those with finalizers are deleted when their controllers run",
			"let the controllers run until it is gone, then "+applyDefinitions)
	case !definitions.IsEstablished(there):
		e.add(Wrong, object, "is not served: "+refusedNames(there), "kubectl describe crd "+own.Name)
	default:
		if lacking := definitions.Missing(own, there); len(lacking) > 0 {
			e.add(Wrong, object, fmt.Sprintf("is older than this version, or belongs to another product: it lacks the fields %s", some(lacking)), applyDefinitions)
		} else if newer := definitions.Missing(there, own); len(newer) > 0 {
			e.add(Doubtful, object, fmt.Sprintf("has fields that this version does not know: %s", some(newer)),
				"use the version of espalier that installed it ("+there.Annotations[definitions.VersionAnnotation]+")")
		}
	}
}

func refusedNames(there *apiextensionsv1.CustomResourceDefinition) string {
	for _, condition := range there.Status.Conditions {
		if condition.Status == apiextensionsv1.ConditionFalse && condition.Message != "" {
			return condition.Message
		}
	}
	return "the API server has not accepted it yet"
}

func some(names []string) string {
	if len(names) <= shownFields {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:shownFields], ", "), len(names)-shownFields)
}
