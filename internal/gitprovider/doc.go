// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package gitprovider contains what promotions require from Git servers: pull requests on GitHub, GitLab, Gitea and Forgejo, Bitbucket
// Server and Azure DevOps. It contains the interface, the classes of errors and the common parts of all providers; each provider has a
// package below, and package providers selects one.
//
// Providers use plain REST through package rest, which limits responses, follows the rules of package dial and keeps tokens out of errors.
package gitprovider
