// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package seeded proves that the tests in the folder above find mistakes. Each seeded bug is a replacement in the source. It is made in
// a copy that only the compiler sees, so that nothing of it is ever in the product; the tests that are built with it must fail.
//
//	go test -tags seeded -timeout 60m -v ./test/faults/seeded
//
// All bugs of the list are found: those of the job flow first, then those of the continuous flow, of the container deployer, of
// TargetSyncs, of shared work, of deletions without a target or with the namespace, and of suspensions, the history of specs, and forced
// deletions. What finds them:
//
//	by a rule                   items start too early, an item that works counts as done, pruning and inventories, uninstalling, two
//	                            writes at the end of a job, a new job while one runs; busy trees, old successes, importers; targets that
//	                            are unreachable or gone, commands that nobody names, objects that outlive their installation
//	by what the story expects   a change or new exports that go unnoticed, an import that is taken too early, a tree that waits forever, a
//	                            deletion that does not end
//	by a certain plan only      a request without a grant needs a crash, a status without its version two processes, an import without
//	                            its exporter's job a cache that lags, children before what they import a crash; pods that are made twice
//	                            an answer that is lost, the input of the next run requests that take long, too many tokens a crash, an
//	                            update that only its mark shows a crash
//
// Where the code guards against a mistake several times, no single replacement is a mistake that can be seen: a new job while one runs
// takes four, an import without its exporter's job two. Bugs that were seeded and that no plan has found so far are not in the list: a
// child taken for gone because the cache does not show it, a job passed on without the child's version.
//
// The build tag keeps it out of the normal run of tests: each bug costs a build.
package seeded
