// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package gitprovider is what promotions need of Git servers: pull requests on GitHub, GitLab, Gitea and Forgejo, Bitbucket Server and
// Azure DevOps. It contains the interface, the classes of errors and what all providers have in common; each provider has a package below,
// and package providers selects one.
//
// Providers use plain REST through package rest, which bounds answers, obeys the rules of package dial and keeps tokens out of errors.
package gitprovider
