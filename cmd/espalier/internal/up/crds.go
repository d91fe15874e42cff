// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package up

import (
	"context"
	"errors"
	"fmt"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
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
)

// fieldOwner marks what this command writes.
const fieldOwner = "espalier-up"

// discoveryPause is between two looks at discovery, which cannot be watched.
const discoveryPause = 50 * time.Millisecond

// installCRDs applies the definitions, over those of an older version as well, and
// returns when discovery names all of them: what is established is not served yet.
func installCRDs(ctx context.Context, config *rest.Config, crds []*apiextensionsv1.CustomResourceDefinition) error {
	c, err := newClient(config)
	if err != nil {
		return err
	}
	waiting := map[string]bool{}
	for _, crd := range crds {
		if err := apply(ctx, c, crd); err != nil {
			return fmt.Errorf("install %s: %w", crd.Name, err)
		}
		waiting[crd.Name] = true
	}
	if err := awaitEstablished(ctx, config, waiting); err != nil {
		return err
	}
	return awaitDiscovery(ctx, config, crds)
}

func apply(ctx context.Context, c client.Client, crd *apiextensionsv1.CustomResourceDefinition) error {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(crd)
	if err != nil {
		return err
	}
	object := &unstructured.Unstructured{Object: content}
	object.SetGroupVersionKind(apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition"))
	unstructured.RemoveNestedField(object.Object, "status")
	unstructured.RemoveNestedField(object.Object, "metadata", "creationTimestamp")
	return c.Apply(ctx, client.ApplyConfigurationFromUnstructured(object), client.FieldOwner(fieldOwner), client.ForceOwnership)
}

func awaitEstablished(ctx context.Context, config *rest.Config, waiting map[string]bool) error {
	clientset, err := apiextensions.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("make a client: %w", err)
	}
	source := cache.NewListWatchFromClient(clientset.ApiextensionsV1().RESTClient(), "customresourcedefinitions", "", fields.Everything())
	_, err = watchtools.UntilWithSync(ctx, source, &apiextensionsv1.CustomResourceDefinition{}, nil, func(event watch.Event) (bool, error) {
		if crd, ok := event.Object.(*apiextensionsv1.CustomResourceDefinition); ok && isEstablished(crd) {
			delete(waiting, crd.Name)
		}
		return len(waiting) == 0, nil
	})
	if err != nil {
		return fmt.Errorf("wait until the custom resources are served: %w", err)
	}
	return nil
}

// awaitDiscovery asks in the way of the controllers and of kubectl. The answer is put together from several parts of the API server, some
// of which lag behind.
func awaitDiscovery(ctx context.Context, config *rest.Config, crds []*apiextensionsv1.CustomResourceDefinition) error {
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return fmt.Errorf("make a client: %w", err)
	}
	ticker := time.NewTicker(discoveryPause)
	defer ticker.Stop()
	for {
		_, lists, err := client.ServerGroupsAndResources()
		missing := firstMissing(crds, lists)
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

// firstMissing is empty if the lists have all served versions of all definitions.
func firstMissing(crds []*apiextensionsv1.CustomResourceDefinition, lists []*metav1.APIResourceList) string {
	served := map[string]bool{}
	for _, list := range lists {
		for _, resource := range list.APIResources {
			served[resource.Name+" of "+list.GroupVersion] = true
		}
	}
	for _, crd := range crds {
		for _, version := range crd.Spec.Versions {
			name := fmt.Sprintf("%s of %s/%s", crd.Spec.Names.Plural, crd.Spec.Group, version.Name)
			if version.Served && !served[name] {
				return name
			}
		}
	}
	return ""
}

func isEstablished(crd *apiextensionsv1.CustomResourceDefinition) bool {
	for _, condition := range crd.Status.Conditions {
		if condition.Type == apiextensionsv1.Established {
			return condition.Status == apiextensionsv1.ConditionTrue
		}
	}
	return false
}
