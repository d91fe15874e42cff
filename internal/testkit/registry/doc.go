// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package registry runs a real OCI registry in the process of a test, with a front end that can fail in the ways in which registries and
// networks fail.
package registry
