// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package up

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"espalier.dev/examples"
)

// createExample leaves objects that exist as they are: the user may have changed them
// since the last start, and applying an installation again would run it again.
func createExample(ctx context.Context, c client.Client, name string) error {
	objects, err := examples.Read(name)
	if err != nil {
		return err
	}
	for _, object := range objects {
		err := c.Create(ctx, object, client.FieldOwner(fieldOwner))
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("create %s %s of example %s: %w", object.GetKind(), object.GetName(), name, err)
		}
	}
	return nil
}
