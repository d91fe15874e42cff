// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package readiness reports whether what was deployed works: by the rules of kstatus for kinds that Kubernetes defines and for
// those that follow its conventions, and by the checks that a user writes.
//
// Nothing here waits. What is not ready yet is said together with the objects whose change may make it so.
package readiness
