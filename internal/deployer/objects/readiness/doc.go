// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package readiness reports whether deployed objects work: by the rules of kstatus for kinds that Kubernetes defines and for those that
// follow its conventions, and by the checks that a user writes.
//
// Nothing here waits. The result for an object that is not ready yet names the objects to watch for changes.
package readiness
