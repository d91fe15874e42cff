// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package fairness

// Lanes returns the number of lanes that an order tracks.
func Lanes[T comparable](o *Order[T]) int { return len(o.lanes) }
