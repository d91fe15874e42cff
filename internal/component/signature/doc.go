// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package signature verifies signatures of component versions, as OCM creates them.
//
// A signature covers the digest of a descriptor in a normal form, which contains the identity of a component and omits parts that may
// change when it is moved: its location, the accesses of resources, labels that are not signed. The descriptor in turn contains the digests
// of its resources and of the components that it refers to. This package recomputes all of these, down to the last component, so that a
// valid signature proves all content.
//
// Everything here is a function of its input; the caller passes functions that read descriptors and digests of content.
package signature
