// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package repository

import (
	"context"

	"espalier.dev/internal/component"
	"espalier.dev/internal/component/signature"
)

// Verify checks a signature of the root of a closure: of its descriptor, of those below it, and of all content. References are resolved as
// in the closure, so a component that overwrites have substituted for a signed one does not pass.
func (r *Repositories) Verify(ctx context.Context, set *component.Set, name string, trust signature.Trust) error {
	return signature.Verify(set.Root(), name, signature.World{
		Component: set.Target,
		Resource: func(of *component.Descriptor, resource *component.Resource, want signature.Digest) (signature.Digest, error) {
			return r.Digest(ctx, set.Origin(of), resource, want)
		},
	}, trust)
}
