// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package repository reads components, and what their resources consist of, from where repository contexts say they are: OCI
// registries, archives in the common transport format, directories, and contexts that carry everything in themselves.
//
// A component is looked up in the repository that a reference names, and then in those that the configuration of OCM offers
// for its name. Only a repository that does not have the component sends the search on; one that fails may have it.
package repository
