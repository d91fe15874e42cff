// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package deployer

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
)

// maxNesting ends the way up in a circle of labels, which anybody can write.
const maxNesting = 50

//espalier:rights deployer-*
//	get executions,installations: the message about a missing Target names the installation to look at

// rootOf returns the name of the root installation of an item, empty if it has none or the deployer may not read what is above it. It is
// asked for only where people are told how to end a deletion.
func (k *kind) rootOf(ctx context.Context, item *lsv1alpha1.DeployItem) string {
	execution, ok := k.above(ctx, "Execution", client.ObjectKey{
		Namespace: item.Namespace, Name: item.Labels[lsv1alpha1.ExecutionManagedByLabel],
	})
	owner := metav1.GetControllerOfNoCopy(execution)
	if !ok || owner == nil || owner.Kind != "Installation" {
		return ""
	}
	name := owner.Name
	for range maxNesting {
		installation, ok := k.above(ctx, "Installation", client.ObjectKey{Namespace: item.Namespace, Name: name})
		if !ok {
			return ""
		}
		parent := installation.Labels[lsv1alpha1.EncompassedByLabel]
		if parent == "" {
			return name
		}
		name = parent
	}
	return ""
}

func (k *kind) above(ctx context.Context, kind string, key client.ObjectKey) (*metav1.PartialObjectMetadata, bool) {
	object := &metav1.PartialObjectMetadata{}
	object.SetGroupVersionKind(lsv1alpha1.SchemeGroupVersion.WithKind(kind))
	return object, key.Name != "" && k.live.Get(ctx, key, object) == nil
}
