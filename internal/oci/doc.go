// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package oci reads and writes artifacts of OCI registries, and of the archives (CTF) in which artifacts travel without one.
//
// A Store is either of them. Everything that is read is bounded in size and compared with its digest before anybody gets it.
// What comes from a registry is kept on disk, by the registry, the credentials and the digest: content that was read with the
// credentials of one user is never handed to another who merely knows its digest.
//
// Every error has a kind (see package failure), says what to do, and contains neither credentials nor URLs, which may carry
// signatures of a storage behind a registry.
package oci
