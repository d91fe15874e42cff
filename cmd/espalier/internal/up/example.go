// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package up

import (
	"context"
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"espalier.dev/examples"
)

// createExample does not change existing objects: the user may have changed them since the last start, and applying an installation again
// starts a new job.
func (s *services) createExample(ctx context.Context, name string) error {
	objects, err := examples.Read(name)
	if err != nil {
		return err
	}
	if name == examples.GitOps {
		s.gitea.Fill(objects)
	}
	for _, object := range objects {
		err := s.manager.GetClient().Create(ctx, object, client.FieldOwner(fieldOwner))
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("create %s %s of example %s: %w", object.GetKind(), object.GetName(), name, err)
		}
	}
	return nil
}

// renewGitOps writes the address and the credentials of Gitea, which may be a new one, into the objects of an earlier start. It runs before
// the controllers start: otherwise, they send new credentials to an old address, or old ones to a new address.
func (s *services) renewGitOps(ctx context.Context, config *rest.Config) error {
	objects, err := examples.Read(examples.GitOps)
	if err != nil {
		return err
	}
	live, err := client.New(config, client.Options{})
	if err != nil {
		return fmt.Errorf("renew the example %s: %w", examples.GitOps, err)
	}
	for _, object := range objects {
		if err := s.renew(ctx, live, object); err != nil {
			return fmt.Errorf("renew %s %s of example %s: %w", object.GetKind(), object.GetName(), examples.GitOps, err)
		}
	}
	return nil
}

// renew does nothing if the object does not exist.
func (s *services) renew(ctx context.Context, live client.Client, object *unstructured.Unstructured) error {
	if err := live.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
		return client.IgnoreNotFound(err)
	}
	renewal := s.gitea.Renewal(object)
	if renewal == nil {
		return nil
	}
	patch, err := json.Marshal(renewal)
	if err != nil {
		return err
	}
	return live.Patch(ctx, object, client.RawPatch(types.MergePatchType, patch), client.FieldOwner(fieldOwner))
}
