// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package artifact fetches what installations consist of: components, blueprints and charts from registries and archives, and blueprints
// from Git repositories. It caches content by digest or commit, so that it is fetched once, however many installations refer to it.
package artifact
