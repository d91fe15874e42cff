// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package lru caches values that are expensive to compute: parsed blueprints, compiled templates, closures of components.
//
// The key of a value is computed from the content that it was made from, so that no cached value can be out of date. A cache is bounded by
// the size of its content; it evicts the least recently used value first.
package lru
