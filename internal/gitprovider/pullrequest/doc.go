// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package pullrequest proposes a revision with a pull request, and withdraws it.
//
// Both can be interrupted anywhere and repeated, by the same process or another: each step checks what exists before it adds anything.
// Objects of a promotion are identified by the promotion's key, which is part of the name of the branch, the commit and the pull request.
// Anything without the key is never changed, closed or removed.
package pullrequest
