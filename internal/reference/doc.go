// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package reference writes pages of docs/reference: provider-configuration.md from the comments of the API types, and metrics.md from the
// declarations of metrics. A test keeps them up to date; go test ./internal/reference -update rewrites them.
package reference
