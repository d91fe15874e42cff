// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package definitions installs and upgrades the CustomResourceDefinitions of our kinds in a cluster. It never replaces them with
// older ones unless requested: the next write of an object would drop the fields that only the newer version has.
package definitions

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"espalier.dev/config/crd"
)

// VersionAnnotation says which version of Espalier has written a definition.
const VersionAnnotation = "espalier.dev/version"

// discoveryPause is the polling interval of discovery, which cannot be watched.
const discoveryPause = 50 * time.Millisecond

// attempts is how often a CRD is read again after a conflicting write. The API server itself also writes CRDs.
const attempts = 10

// Options say how to install CRDs.
type Options struct {
	// Owner is the field manager of the written fields.
	Owner string
	// Version is the version of this build.
	Version string
	// Back permits replacing CRDs of a newer version.
	Back bool
}

// Change is what happened to one CRD.
type Change struct {
	Name string
	// Created reports whether it did not exist before.
	Created bool
	// From is the version that wrote the previous one; empty if it does not say.
	From string
	// Changed reports whether something was written.
	Changed bool
}

// Install applies the CRDs of all kinds and returns when discovery lists all of them: an established CRD is not served yet. It writes
// nothing at all if it must reject one of them. It may run in several processes at once.
func Install(ctx context.Context, config *rest.Config, options Options) ([]Change, error) {
	crds, err := crd.All()
	if err != nil {
		return nil, err
	}
	return install(ctx, config, crds, options)
}

// InstallSome is Install for some CRDs.
func InstallSome(
	ctx context.Context, config *rest.Config, chosen func(*apiextensionsv1.CustomResourceDefinition) bool, options Options,
) ([]Change, error) {
	crds, err := crd.All()
	if err != nil {
		return nil, err
	}
	return install(ctx, config, slices.DeleteFunc(crds, func(d *apiextensionsv1.CustomResourceDefinition) bool { return !chosen(d) }), options)
}

//espalier:rights definitions
//	get,create,patch customresourcedefinitions.apiextensions.k8s.io: to compare and apply the CRDs of Espalier
//	list,watch customresourcedefinitions.apiextensions.k8s.io: controllers start when the CRDs are established

func install(
	ctx context.Context, config *rest.Config, crds []*apiextensionsv1.CustomResourceDefinition, options Options,
) ([]Change, error) {
	clientset, err := apiextensions.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("create a client: %w", err)
	}
	scheme := runtime.NewScheme()
	if err := apiextensionsv1.AddToScheme(scheme); err != nil {
		return nil, fmt.Errorf("assemble the scheme: %w", err)
	}
	c, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("create a client: %w", err)
	}
	i := installer{client: c, options: options}
	if err := i.refuse(ctx, crds); err != nil {
		return nil, err
	}
	var changes []Change
	waiting := map[string]bool{}
	for _, definition := range crds {
		change, err := i.settle(ctx, definition)
		if err != nil {
			return changes, fmt.Errorf("install CRD %s: %w", definition.Name, hint(err))
		}
		changes = append(changes, change)
		waiting[definition.Name] = true
	}
	if err := awaitEstablished(ctx, clientset, waiting); err != nil {
		return changes, err
	}
	return changes, awaitDiscovery(ctx, config, crds)
}

// hint adds which role is missing.
func hint(err error) error {
	if !apierrors.IsForbidden(err) {
		return err
	}
	return fmt.Errorf("%w: bind the ClusterRole espalier-definitions to this service account, or install the CRDs yourself "+
		"and start without --install-crds", err)
}

type installer struct {
	client  client.Client
	options Options
}

// refuse checks all CRDs before the first is written.
func (i installer) refuse(ctx context.Context, crds []*apiextensionsv1.CustomResourceDefinition) error {
	var refusals []error
	for _, definition := range crds {
		existing, err := i.read(ctx, definition.Name)
		if err != nil {
			return fmt.Errorf("read CRD %s: %w", definition.Name, hint(err))
		}
		refusals = append(refusals, i.refusal(existing, definition))
	}
	return errors.Join(refusals...)
}

// refusal permits everything if the CRD does not exist yet.
func (i installer) refusal(existing, wanted *apiextensionsv1.CustomResourceDefinition) error {
	if existing == nil {
		return nil
	}
	return Refusal(existing, wanted, i.options)
}

// settle brings one CRD to the wanted state. After a conflicting write, it checks the new state first.
func (i installer) settle(ctx context.Context, wanted *apiextensionsv1.CustomResourceDefinition) (change Change, err error) {
	for range attempts {
		existing, err := i.read(ctx, wanted.Name)
		if err != nil {
			return Change{}, err
		}
		if err := i.refusal(existing, wanted); err != nil {
			return Change{}, err
		}
		change, err = i.apply(ctx, existing, wanted)
		if !apierrors.IsConflict(err) {
			return change, err
		}
	}
	return change, errors.New("another client keeps changing it: find it in metadata.managedFields, and retry")
}

func (i installer) read(ctx context.Context, name string) (*apiextensionsv1.CustomResourceDefinition, error) {
	existing := &apiextensionsv1.CustomResourceDefinition{}
	err := i.client.Get(ctx, client.ObjectKey{Name: name}, existing)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return existing, err
}

// apply writes only if the CRD is still the one that was checked.
func (i installer) apply(ctx context.Context, existing, wanted *apiextensionsv1.CustomResourceDefinition) (Change, error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(wanted)
	if err != nil {
		return Change{}, err
	}
	object := &unstructured.Unstructured{Object: content}
	object.SetGroupVersionKind(apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition"))
	unstructured.RemoveNestedField(object.Object, "status")
	unstructured.RemoveNestedField(object.Object, "metadata", "creationTimestamp")
	annotations := object.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[VersionAnnotation] = i.options.Version
	object.SetAnnotations(annotations)
	change := Change{Name: wanted.Name, Created: existing == nil}
	before := ""
	if existing != nil {
		before, change.From = existing.ResourceVersion, existing.Annotations[VersionAnnotation]
		object.SetResourceVersion(before)
	}
	err = i.client.Apply(ctx, client.ApplyConfigurationFromUnstructured(object), client.FieldOwner(i.options.Owner), client.ForceOwnership)
	change.Changed = object.GetResourceVersion() != before
	return change, err
}

func awaitEstablished(ctx context.Context, clientset apiextensions.Interface, waiting map[string]bool) error {
	source := cache.NewListWatchFromClient(clientset.ApiextensionsV1().RESTClient(), "customresourcedefinitions", "", fields.Everything())
	_, err := watchtools.UntilWithSync(ctx, source, &apiextensionsv1.CustomResourceDefinition{}, nil, func(event watch.Event) (bool, error) {
		if definition, ok := event.Object.(*apiextensionsv1.CustomResourceDefinition); ok && IsEstablished(definition) {
			delete(waiting, definition.Name)
		}
		return len(waiting) == 0, nil
	})
	if err != nil {
		return fmt.Errorf("wait until the custom resources are served: %w", err)
	}
	return nil
}

// awaitDiscovery uses discovery as the controllers and kubectl do. The answer combines several parts of the API server, some of which lag
// behind.
func awaitDiscovery(ctx context.Context, config *rest.Config, crds []*apiextensionsv1.CustomResourceDefinition) error {
	asked, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return fmt.Errorf("create a client: %w", err)
	}
	ticker := time.NewTicker(discoveryPause)
	defer ticker.Stop()
	for {
		_, lists, err := asked.ServerGroupsAndResources()
		missing := FirstMissing(crds, lists)
		if missing == "" {
			return nil
		}
		select {
		case <-ctx.Done():
			return errors.Join(fmt.Errorf("wait until discovery names %s: %w", missing, context.Cause(ctx)), err)
		case <-ticker.C:
		}
	}
}

// FirstMissing returns the first served version of a CRD that the lists lack, empty if there is none.
func FirstMissing(crds []*apiextensionsv1.CustomResourceDefinition, lists []*metav1.APIResourceList) string {
	served := map[string]bool{}
	for _, list := range lists {
		for _, resource := range list.APIResources {
			served[resource.Name+" of "+list.GroupVersion] = true
		}
	}
	for _, definition := range crds {
		for _, version := range definition.Spec.Versions {
			name := fmt.Sprintf("%s of %s/%s", definition.Spec.Names.Plural, definition.Spec.Group, version.Name)
			if version.Served && !served[name] {
				return name
			}
		}
	}
	return ""
}

// IsEstablished reports whether the API server serves a CRD, or is about to.
func IsEstablished(definition *apiextensionsv1.CustomResourceDefinition) bool {
	for _, condition := range definition.Status.Conditions {
		if condition.Type == apiextensionsv1.Established {
			return condition.Status == apiextensionsv1.ConditionTrue
		}
	}
	return false
}
