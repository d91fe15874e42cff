// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package fairness

// Lanes is how many lanes an order knows.
func Lanes[T comparable](o *Order[T]) int { return len(o.lanes) }
