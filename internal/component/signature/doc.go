// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package signature checks signatures of component versions, as OCM makes them.
//
// A signature is made over the digest of a descriptor in a normal form, which has what identifies a component and leaves out
// what may change when it is moved: where it is, how resources are reached, labels that nobody wanted to sign. The descriptor in
// turn has the digests of its resources and of the components that it refers to. All of these are computed anew here, down to
// the last component, so that a valid signature vouches for all content.
//
// Everything here is a function of its input; descriptors and digests of content are read by functions that the caller gives.
package signature
