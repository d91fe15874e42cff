// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package repository reads components, and the content of their resources, from the locations in repository contexts: OCI registries,
// archives in the common transport format, directories, and contexts that contain everything themselves.
//
// A component is looked up in the repository that a reference names, and then in those that the OCM configuration offers for its name. The
// search continues only if a repository does not have the component; one that fails may have it.
package repository
