// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package giteaserver runs Gitea, a Git server, as a sub-process that listens on loopback, and calls its API. The example "gitops" of
// "espalier up" uses it, and so do tests. How pipelines speak with Gitea is in internal/gitprovider/gitea.
package giteaserver
