// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package lru remembers values that are costly to make: parsed blueprints, compiled templates, closures of components.
//
// A value is found by a key over the content that it was made from, so that nothing remembered can be out of date. A
// cache is bounded by the size of what it holds; the least recently used value goes first.
package lru
