// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package registry runs a real OCI registry in the process of a test, with a front that can fail in the ways that registries
// and networks fail.
package registry
