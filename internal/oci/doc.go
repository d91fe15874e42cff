// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package oci reads and writes artifacts of OCI registries, and of the archives (CTF) in which artifacts travel without one.
//
// A Store is either of them. All content is bounded in size and verified against its digest before anyone gets it. Content from a registry
// is cached on disk, by registry, credentials and digest: content that was read with the credentials of one user is never given to another
// who only knows its digest.
//
// Every error has a kind (see package failure), says what to do, and contains neither credentials nor URLs, which may carry signatures of a
// storage behind a registry.
package oci
