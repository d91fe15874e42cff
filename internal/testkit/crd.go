// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package testkit

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"espalier.dev/config/crd"
)

// InstallCRD creates or updates CRDs and returns when their resources are served and discoverable. CRDs that are already installed cost
// nothing, so every test may install what it needs.
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
	s.installing.Lock()
	defer s.installing.Unlock()
	ctx, cancel := context.WithTimeout(ctx, Patience)
	defer cancel()
	missing := slices.DeleteFunc(slices.Clone(crds), func(definition *apiextensionsv1.CustomResourceDefinition) bool {
		return equality.Semantic.DeepEqual(s.installed[definition.Name], definition.Spec)
	})
	for _, definition := range missing {
		if err := s.applyCRD(ctx, definition.DeepCopy()); err != nil {
			return fmt.Errorf("install CRD %s: %w", definition.Name, err)
		}
	}
	for _, definition := range missing {
		if err := s.awaitServed(ctx, definition); err != nil {
			return fmt.Errorf("wait until CRD %s is served: %w", definition.Name, err)
		}
		s.noteInstalled(definition)
	}
	return nil
}

func (s *APIServer) applyCRD(ctx context.Context, definition *apiextensionsv1.CustomResourceDefinition) error {
	c := s.Client()
	err := c.Create(ctx, definition.DeepCopy())
	if !apierrors.IsAlreadyExists(err) {
		return err
	}
	// The server itself writes to a CRD until it is established, so an update may have to be repeated.
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		var existing apiextensionsv1.CustomResourceDefinition
		if err := c.Get(ctx, client.ObjectKeyFromObject(definition), &existing); err != nil {
			return err
		}
		existing.Spec = definition.Spec
		return c.Update(ctx, &existing)
	})
}

func (s *APIServer) noteInstalled(definition *apiextensionsv1.CustomResourceDefinition) {
	if s.installed == nil {
		s.installed = map[string]apiextensionsv1.CustomResourceDefinitionSpec{}
	}
	s.installed[definition.Name] = *definition.Spec.DeepCopy()
}

// awaitServed asks as a client does, because the condition Established precedes the handler and discovery, neither of which can be watched.
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
	// A new mapper each time: an old one caches discovery from when the group was incomplete.
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
