// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package oci reads and writes artifacts of OCI registries, and of archives (CTF), which transport artifacts without a registry.
//
// A Store is either of them. All content is limited in size and verified against its digest before it is returned. Content from a registry
// is cached on disk, by registry, credentials and digest: content that was read with the credentials of one user is never given to another
// who only has its digest.
//
// Every error has a kind (see package failure), contains advice, and contains neither credentials nor URLs, which may contain signatures of
// a storage behind a registry.
package oci
