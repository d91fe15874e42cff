// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package offline

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
)

// Inspector inspects deploy items of some type. It returns the objects that a deploy item would deploy, as far as known without a cluster,
// and what is wrong with its configuration.
type Inspector func(ctx context.Context, item lsv1alpha1.DeployItemTemplate) ([]*unstructured.Unstructured, error)

// Inspect inspects all rendered deploy items. Mistakes become warnings; the objects are added to the result if requested.
func (r *Result) Inspect(ctx context.Context, inspectors map[lsv1alpha1.DeployItemType]Inspector, objects bool) {
	var found []rendered
	for _, each := range r.objects {
		execution, ok := each.object.(*lsv1alpha1.Execution)
		if !ok {
			continue
		}
		for _, item := range execution.Spec.DeployItems {
			inspect, known := inspectors[item.Type]
			if !known {
				continue
			}
			deployed, err := inspect(ctx, item)
			if err != nil {
				r.warn("Execution %s/%s, deploy item %s: %s",
					execution.Namespace, execution.Name, r.secrets.Text(item.Name), r.secrets.Text(err.Error()))
			}
			for _, object := range deployed {
				found = append(found, rendered{object: object, secret: object.GetKind() == "Secret", deployed: true})
			}
		}
	}
	if objects {
		r.objects = append(r.objects, found...)
	}
}
