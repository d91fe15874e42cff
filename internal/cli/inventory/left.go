// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"context"
	"io"

	"espalier.dev/internal/cli"
	"espalier.dev/internal/cli/connect"
	"espalier.dev/internal/cli/display"
	"espalier.dev/internal/objecttree"
)

// PrintLeft tells somebody who is about to delete trees without uninstalling which objects stay in which clusters.
func PrintLeft(ctx context.Context, env cli.Environment, access *connect.Access, names []string) ([]*objecttree.Node, error) {
	forest, namespace, err := access.ReadForest(ctx, names)
	if err != nil {
		return nil, err
	}
	tops, err := access.Select(forest, namespace, names)
	if err != nil {
		return nil, err
	}
	entries := entriesOf(itemsBelow(tops))
	if len(entries) == 0 {
		_, err := io.WriteString(env.ErrOut, "No objects are recorded that would stay in place.\n")
		return tops, err
	}
	c, err := access.Client()
	if err != nil {
		return nil, err
	}
	nameTargets(entries, objecttree.ReadOrigins(ctx, c, forest, namespace))
	if _, err := io.WriteString(env.ErrOut, "These objects stay in place, unmanaged:\n"); err != nil {
		return nil, err
	}
	o := options{env: env, access: access}
	return tops, display.To(env, env.ErrOut).Table(o.table(entries, false))
}
