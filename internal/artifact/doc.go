// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package artifact reads blueprints that are no resources of components: directories of Git repositories. What it has read it remembers by
// the commit, so that a revision is fetched once, however many installations name it.
package artifact
