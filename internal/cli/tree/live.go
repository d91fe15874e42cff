// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package tree

import (
	"context"

	"espalier.dev/internal/cli/reach"
	"espalier.dev/internal/objecttree"
)

// look has the deploy items that are shown say what is in their clusters now.
func (o options) look(ctx context.Context, tops []*objecttree.Node) error {
	targets, err := reach.Open(o.access)
	if err != nil {
		return err
	}
	defer targets.Close()
	targets.Look(ctx, o.flatten(tops))
	return nil
}
