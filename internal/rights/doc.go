// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package rights generates roles from markers in the code. Code that sends requests to the API server has a marker beside it that says who
// needs which right, and why:
//
//	//espalier:rights executions,deployer-*
//	//	get,list deployitems: before a deploy item counts as gone, the API server is asked
//
// The first line names roles of the table in roles.go, the others rights: verbs, resources, and the reason. Resources are written as in
// kubectl, for example helmreleases.helm.toolkit.fluxcd.io or pods/log; those of the project need no group.
//
// tools/generate.sh writes the roles to config/rbac, and all rights with their reasons to docs/reference/rights.md. A test keeps both up to
// date; the test in test/rights runs everything with these roles, and finds missing and unused rights.
package rights
