// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package pullrequest proposes a revision by a pull request, and withdraws it.
//
// Both may be cut off anywhere and repeated, by the same process or another: each step looks at what is there before it adds anything.
// What belongs to a promotion is recognised by the promotion's key, which the name of the branch, the commit and the pull request
// carry. What does not carry it is never changed, closed or removed.
package pullrequest
