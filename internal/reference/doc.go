// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package reference writes pages of docs/reference: provider-configuration.md from the comments of the API types, and metrics.md from the
// declarations of metrics. It also writes the JSON schemas in the folder schemas, from the definitions of the kinds and from the types of
// blueprints. Tests keep all of it up to date; go test ./internal/reference -update rewrites it.
package reference
