// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package preview

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/catalog"
	"espalier.dev/internal/component/credentials"
	"espalier.dev/internal/dataflow"
	"espalier.dev/internal/offline"
)

// Cluster reads what installations are rendered from, with the rights of its client.
type Cluster struct{ Client client.Reader }

// ReadError says which objects of a cluster could not be read.
type ReadError struct {
	// Verb is get or list.
	Verb      string
	Resource  schema.GroupResource
	Namespace string
	// What describes the attempt in words, such as "read Secret login".
	What string
	Err  error
}

func (e *ReadError) Error() string { return fmt.Sprintf("%s: %v", e.What, e.Err) }
func (e *ReadError) Unwrap() error { return e.Err }

// The kinds that are read.
var (
	installations = own("installations")
	deployItems   = own("deployitems")
	dataObjects   = kind{"DataObject", own("dataobjects")}
	targets       = kind{"Target", own("targets")}
	contexts      = kind{"Context", own("contexts")}
	overwrites    = kind{"ComponentVersionOverwrites", own("componentversionoverwrites")}
	secrets       = kind{"Secret", schema.GroupResource{Resource: "secrets"}}
	configMaps    = kind{"ConfigMap", schema.GroupResource{Resource: "configmaps"}}
)

type kind struct {
	name     string
	resource schema.GroupResource
}

func own(resource string) schema.GroupResource {
	return schema.GroupResource{Group: lsv1alpha1.GroupName, Resource: resource}
}

// Imports adds the objects that an installation imports. Missing ones are left out: the rendering reports them.
func (c Cluster) Imports(ctx context.Context, m *offline.Manifests, scope dataflow.Scope, needs dataflow.Needs) error {
	found, err := gather[lsv1alpha1.DataObject](ctx, c, dataObjects, at{scope.Namespace, without(needs.DataObjects, m.DataObjects)})
	if err != nil {
		return err
	}
	m.DataObjects = append(m.DataObjects, found...)
	more, err := gather[lsv1alpha1.Target](ctx, c, targets, at{scope.Namespace, without(needs.Targets, m.Targets)})
	if err != nil {
		return err
	}
	m.Targets = append(m.Targets, more...)
	for _, reference := range needs.Elements {
		if err := c.elements(ctx, m, scope, reference); err != nil {
			return err
		}
	}
	return c.contents(ctx, m, at{scope.Namespace, slices.Concat(needs.Secrets, dataflow.SecretsOf(m.Targets))}, needs.ConfigMaps)
}

// elements adds the Targets of a list or map that the parent of an installation imports.
func (c Cluster) elements(ctx context.Context, m *offline.Manifests, scope dataflow.Scope, reference string) error {
	var list lsv1alpha1.TargetList
	if err := c.list(ctx, &list, targets.resource, in(scope.Namespace, scope.ElementLabels(reference))); err != nil {
		return err
	}
	for i := range list.Items {
		if len(without([]string{list.Items[i].Name}, m.Targets)) > 0 {
			m.Targets = append(m.Targets, &list.Items[i])
		}
	}
	return nil
}

// Sources adds the objects that determine where the components and the blueprint of an installation come from. An installation with an
// inline blueprint needs none of them.
func (c Cluster) Sources(ctx context.Context, m *offline.Manifests, inst *lsv1alpha1.Installation) error {
	if !catalog.ReadsOutside(inst) {
		return nil
	}
	name := cmp.Or(inst.Spec.Context, lsv1alpha1.DefaultContextName)
	found, err := gather[lsv1alpha1.Context](ctx, c, contexts, at{inst.Namespace, without([]string{name}, m.Contexts)})
	if err != nil {
		return err
	}
	m.Contexts = append(m.Contexts, found...)
	var secretNames, configMapNames, overwriteNames []string
	if git := inst.Spec.Blueprint.Git; git != nil && git.SecretReference != nil {
		secretNames = append(secretNames, git.SecretReference.Name)
	}
	for _, each := range found {
		more, maps := credentials.Named(each)
		secretNames, configMapNames = append(secretNames, more...), append(configMapNames, maps...)
		overwriteNames = append(overwriteNames, each.ComponentVersionOverwritesReference)
	}
	others, err := gather[lsv1alpha1.ComponentVersionOverwrites](ctx, c, overwrites, at{inst.Namespace, without(overwriteNames, m.Overwrites)})
	if err != nil {
		return err
	}
	m.Overwrites = append(m.Overwrites, others...)
	return c.contents(ctx, m, at{inst.Namespace, secretNames}, configMapNames)
}

// contents adds Secrets and ConfigMaps that are not among the manifests yet.
func (c Cluster) contents(ctx context.Context, m *offline.Manifests, wanted at, maps []string) error {
	found, err := gather[corev1.Secret](ctx, c, secrets, at{wanted.namespace, without(wanted.names, m.Secrets)})
	if err != nil {
		return err
	}
	m.Secrets = append(m.Secrets, found...)
	others, err := gather[corev1.ConfigMap](ctx, c, configMaps, at{wanted.namespace, without(maps, m.ConfigMaps)})
	m.ConfigMaps = append(m.ConfigMaps, others...)
	return err
}

// at identifies objects by namespace and names.
type at struct {
	namespace string
	names     []string
}

// gather reads objects of one kind, skipping missing ones.
func gather[T any, P interface {
	*T
	client.Object
}](ctx context.Context, c Cluster, of kind, wanted at) ([]P, error) {
	var found []P
	for _, name := range wanted.names {
		object := P(new(T))
		err := c.Client.Get(ctx, client.ObjectKey{Namespace: wanted.namespace, Name: name}, object)
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return nil, &ReadError{
				Verb: "get", Resource: of.resource, Namespace: wanted.namespace, What: fmt.Sprintf("read %s %s", of.name, name), Err: err,
			}
		}
		found = append(found, object)
	}
	return found, nil
}

// labelled identifies the objects of a namespace with certain labels.
type labelled struct {
	namespace string
	labels    client.MatchingLabels
}

func in(namespace string, labels map[string]string) labelled { return labelled{namespace, labels} }

func (c Cluster) list(ctx context.Context, into client.ObjectList, of schema.GroupResource, which labelled) error {
	err := c.Client.List(ctx, into, client.InNamespace(which.namespace), which.labels)
	if err != nil {
		return &ReadError{Verb: "list", Resource: of, Namespace: which.namespace, What: "list " + of.Resource, Err: err}
	}
	return nil
}

// without returns the names of missing objects, without duplicates.
func without[T client.Object](names []string, there []T) []string {
	known := map[string]bool{"": true}
	for _, object := range there {
		known[object.GetName()] = true
	}
	var missing []string
	for _, name := range names {
		if !known[name] {
			missing = append(missing, name)
		}
		known[name] = true
	}
	return missing
}
