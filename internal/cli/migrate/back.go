// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	pipelines "espalier.dev/api/pipelines/v1alpha1"
	"espalier.dev/internal/definitions"
)

// removeFinalizer removes Espalier's finalizer from Pipelines: without its controllers, they could not be deleted any more.
func (m *migration) removeFinalizer(ctx context.Context) ([]Step, error) {
	var steps []Step
	var list pipelines.PipelineList
	err := m.each(ctx, &list, func() error {
		for i := range list.Items {
			p := &list.Items[i]
			before := p.DeepCopy()
			if !controllerutil.RemoveFinalizer(p, m.system.finalizer) {
				continue
			}
			err := m.client.Patch(ctx, p, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
			if client.IgnoreNotFound(err) != nil {
				return fmt.Errorf("pipeline %s/%s: %w", p.Namespace, p.Name, err)
			}
			steps = append(steps, Step{"Pipeline " + p.Namespace + "/" + p.Name, "finalizer removed"})
		}
		return nil
	})
	return steps, m.access.Explain(err, "remove the finalizer of Pipelines", "")
}

// restoreDefinitions puts back the definitions as they were.
func (m *migration) restoreDefinitions(ctx context.Context) ([]Step, error) {
	var steps []Step
	for _, key := range m.record.keys(definitionPrefix) {
		name := strings.TrimSuffix(strings.TrimPrefix(key, definitionPrefix), keySuffix)
		recorded, err := m.record.definition(name)
		if err != nil {
			return steps, m.damaged(key)
		}
		done, err := m.restoreDefinition(ctx, recorded)
		if err != nil {
			return steps, m.access.Explain(err, "restore CRD "+recorded.Name, "")
		}
		steps = append(steps, Step{"CustomResourceDefinition " + recorded.Name, done})
	}
	return steps, nil
}

func (m *migration) restoreDefinition(ctx context.Context, recorded *apiextensionsv1.CustomResourceDefinition) (string, error) {
	for range attempts {
		there := &apiextensionsv1.CustomResourceDefinition{}
		err := m.client.Get(ctx, client.ObjectKeyFromObject(recorded), there)
		if apierrors.IsNotFound(err) {
			return "created again", m.client.Create(ctx, recorded.DeepCopy())
		}
		if err != nil {
			return "", err
		}
		wanted := there.DeepCopy()
		wanted.Spec, wanted.Labels, wanted.Annotations = recorded.Spec, recorded.Labels, maps.Clone(recorded.Annotations)
		if text, found := there.Annotations[lastApplied]; found {
			metav1.SetMetaDataAnnotation(&wanted.ObjectMeta, lastApplied, text)
		}
		if equality.Semantic.DeepEqual(there, wanted) {
			return nothingToDo, nil
		}
		if err := m.client.Update(ctx, wanted); !apierrors.IsConflict(err) {
			return "restored", err
		}
	}
	return "", fmt.Errorf("another client keeps changing it")
}

// restoreDeployments gives each Deployment the replicas that it had. One that somebody has started meanwhile stays as it is.
func (m *migration) restoreDeployments(ctx context.Context) ([]Step, error) {
	var steps []Step
	for i := range m.theirs {
		deployment := &m.theirs[i]
		at := slices.IndexFunc(m.record.State.Deployments, func(d recordedDeployment) bool { return d.is(deployment) })
		if at < 0 {
			continue
		}
		step, err := m.scale(ctx, deployment, func(now int32) int32 { return max(now, m.record.State.Deployments[at].Replicas) })
		if err != nil {
			return steps, err
		}
		steps = append(steps, step)
	}
	return steps, nil
}

// forget deletes the record, so that a later take-over starts from scratch.
func (m *migration) forget(ctx context.Context) ([]Step, error) {
	stored := m.record.stored
	err := m.client.Delete(ctx, stored, client.Preconditions(metav1.Preconditions{UID: &stored.UID}))
	if err != nil && !apierrors.IsNotFound(err) {
		return nil, m.access.Explain(err, "delete ConfigMap "+stored.Name, stored.Namespace)
	}
	return []Step{{"ConfigMap " + stored.Namespace + "/" + stored.Name, "deleted"}}, nil
}

// remains lists what going back has not undone.
func (m *migration) remains() []string {
	if !m.back {
		return nil
	}
	remains := slices.Clone(m.system.remains)
	if created := m.record.State.Created; len(created) > 0 {
		remains = append(remains, "CRDs that did not exist before stay, because their objects would be deleted with them: "+
			strings.Join(created, ", "))
	}
	for _, name := range slices.Sorted(maps.Keys(m.live)) {
		there := m.live[name]
		_, recorded := m.record.Objects[definitionPrefix+name+keySuffix]
		if m.system.owns(there.Spec.Group) && definitions.IsOurs(there) && !recorded && !slices.Contains(m.record.State.Created, name) {
			remains = append(remains, "CRD "+name+" was one of Espalier before the take-over, and stays.")
		}
	}
	return remains
}
