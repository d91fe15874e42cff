// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package apply brings objects to a cluster: in order, by policy, and without a write where nothing differs.
//
// A new object costs one request. An object that was applied before costs one read, and a write only if the manifest asks
// for something that is not there, or if a field has gone from the manifest. Fields that the API server or
// others have added are no difference.
package apply
