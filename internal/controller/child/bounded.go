// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package child

// maxKnown is how many objects each memory of this package knows at most. Nobody tells it when an object is gone.
const maxKnown = 1 << 15

// keep enters what is known of an object. When there are too many, any of the others goes: all that is kept here saves requests, and
// whoever is forgotten costs one.
func keep[K comparable, V any](known map[K]V, key K, value V) map[K]V {
	if known == nil {
		known = map[K]V{}
	}
	if _, there := known[key]; !there {
		for other := range known {
			if len(known) < maxKnown {
				break
			}
			delete(known, other)
		}
	}
	known[key] = value
	return known
}
