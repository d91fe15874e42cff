// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package rights tests that the roles in config/rbac have the rights that are needed, and no others: every controller, every deployer and
// the web UI run with an account of their own that has nothing but its role, and do everything that they can do.
package rights
