// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package tenancy runs the controllers in strict tenancy, in namespaces whose service accounts have all rights, some or none.
package tenancy
