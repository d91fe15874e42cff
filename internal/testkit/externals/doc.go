// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package externals runs what others have written and the product works with, as sub-processes of a test and on loopback only:
// Gitea, and the source-, kustomize- and helm-controller of Flux.
//
//	gitea := parts.Gitea(t)                                            // one per process; the first test starts it
//	repository := gitea.Repository(t, map[string]string{"app.yaml": text}) // a world for this test
//	repository.Commit(t, "proposal", map[string]string{"app.yaml": changed})
//	request := repository.OpenPullRequest(t, "proposal", "main")
//	merged := repository.Merge(t, request.Number)
//
//	server := testkit.NewServer(t)                                     // the controllers serve all namespaces of a server
//	parts.Flux(t, server)
//	charts := parts.Charts(t)                                          // a chart repository, for HelmRepositories
//
// Nothing uses a fixed port: Gitea inherits a listener of the test, and so the test need not ask until it is ready, but
// simply waits for its first answer. Processes end with the test process, and print their last words when a test fails.
//
// The binaries are built on first use into the checkout's .cache folder, which takes minutes each; "make externals" does it
// ahead of the tests.
package externals
