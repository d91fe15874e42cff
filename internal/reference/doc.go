// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package reference writes docs/reference/provider-configuration.md from the comments of the API types. A test keeps the page
// up to date; go test ./internal/reference -update rewrites it.
package reference
