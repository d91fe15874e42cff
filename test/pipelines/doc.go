// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package pipelines tests promotions as their users see them: through the Kubernetes API, Git, pull requests and HTTP, with a whole
// manager and, where it matters, with a real Flux in leaf control planes and a real Gitea.
package pipelines
