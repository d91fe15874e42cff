// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package dataflow

import (
	"iter"
	"slices"
)

// sorted returns each text once, in order.
func sorted(texts iter.Seq[string]) []string {
	return slices.Compact(slices.Sorted(texts))
}
