// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package testkit

import (
	"context"
	"fmt"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"espalier.dev/config/crd"
)

const crdLimit = time.Minute

// InstallCRD creates or updates custom resource definitions and returns when their resources are served and discoverable.
func (s *APIServer) InstallCRD(t testing.TB, crds ...*apiextensionsv1.CustomResourceDefinition) {
	t.Helper()
	if err := s.installCRDs(t.Context(), crds); err != nil {
		t.Fatal(err)
	}
}

func (s *APIServer) installProjectCRDs(ctx context.Context) error {
	crds, err := crd.All()
	if err != nil {
		return err
	}
	return s.installCRDs(ctx, crds)
}

func (s *APIServer) installCRDs(ctx context.Context, crds []*apiextensionsv1.CustomResourceDefinition) error {
	ctx, cancel := context.WithTimeout(ctx, crdLimit)
	defer cancel()
	for _, definition := range crds {
		if err := s.applyCRD(ctx, definition.DeepCopy()); err != nil {
			return fmt.Errorf("install CRD %s: %w", definition.Name, err)
		}
	}
	for _, definition := range crds {
		if err := s.awaitServed(ctx, definition); err != nil {
			return fmt.Errorf("wait until CRD %s is served: %w", definition.Name, err)
		}
	}
	return nil
}

func (s *APIServer) applyCRD(ctx context.Context, definition *apiextensionsv1.CustomResourceDefinition) error {
	c := s.Client()
	err := c.Create(ctx, definition)
	if !apierrors.IsAlreadyExists(err) {
		return err
	}
	var existing apiextensionsv1.CustomResourceDefinition
	if err := c.Get(ctx, client.ObjectKeyFromObject(definition), &existing); err != nil {
		return err
	}
	definition.ResourceVersion = existing.ResourceVersion
	return c.Update(ctx, definition)
}

// awaitServed asks as a client would, because the condition Established comes before the handler and discovery have caught up.
// Neither of the two can be watched.
func (s *APIServer) awaitServed(ctx context.Context, definition *apiextensionsv1.CustomResourceDefinition) error {
	kind := schema.GroupKind{Group: definition.Spec.Group, Kind: definition.Spec.Names.Kind}
	return wait.PollUntilContextCancel(ctx, 20*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		for _, version := range definition.Spec.Versions {
			if !version.Served {
				continue
			}
			served, err := s.serves(ctx, kind, version.Name)
			if err != nil || !served {
				return false, err
			}
		}
		return true, nil
	})
}

func (s *APIServer) serves(ctx context.Context, kind schema.GroupKind, version string) (bool, error) {
	access := s.current()
	httpClient, err := rest.HTTPClientFor(access.config)
	if err != nil {
		return false, err
	}
	// A new mapper each time: an old one remembers what discovery said when the group was incomplete.
	mapper, err := apiutil.NewDynamicRESTMapper(access.config, httpClient)
	if err != nil {
		return false, err
	}
	mapping, err := mapper.RESTMapping(kind, version)
	if meta.IsNoMatchError(err) || apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	_, err = access.dynamic.Resource(mapping.Resource).List(ctx, metav1.ListOptions{Limit: 1})
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	return err == nil, err
}
