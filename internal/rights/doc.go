// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package rights makes roles from markers in the code. Whoever writes code that asks the API server for something says beside it who needs
// which right, and why:
//
//	//espalier:rights executions,deployer-*
//	//	get,list deployitems: before a deploy item counts as gone, the API server is asked
//
// The first line names roles of the table in roles.go, the others rights: verbs, resources, and the reason. Resources are written as
// kubectl does, as in helmreleases.helm.toolkit.fluxcd.io or pods/log; those of the project need no group.
//
// The roles are written to config/rbac, and all rights with their reasons to docs/reference/rights.md, by tools/generate.sh. A test keeps
// both up to date; the test in test/rights runs everything with these roles, and finds rights that are missing or that nobody uses.
package rights
