// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package artifact gets what installations consist of from outside: components, blueprints and charts from registries and archives, and
// blueprints from Git repositories. What was read is remembered by its digest or commit, so that it is fetched once, however many
// installations name it.
package artifact
