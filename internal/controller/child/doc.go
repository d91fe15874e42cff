// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package child holds the writes by which an object steers the objects below it: an installation its nested
// installations and its execution, an execution its deploy items. Each of them is idempotent and carries the version
// or the UID of the sub-object that the decision was made on, so that a stale view or an old replica changes nothing.
package child
