// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package apply applies objects to a cluster: in order, by policy, and without a write if nothing differs.
//
// A new object costs one request. An object that was applied before costs one read, and a write only if the manifest contains something
// that the object lacks, or if a field was removed from the manifest. Fields that the API server or others have added do not count as a
// difference.
package apply
