// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package child contains the writes by which an object controls the objects below it: an installation its nested installations and its
// execution, an execution its deploy items. Each write is idempotent and carries the version or the UID of the child that the decision
// was based on, so that a stale view or an old replica changes nothing.
package child
