// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package seeded proves that the tests in the folder above find mistakes. Each seeded bug is a replacement in one source file. It is made in
// a copy that only the compiler sees, so that nothing of it is ever in the product; the tests that are built with it must fail.
//
//	go test -tags seeded -timeout 60m -v ./test/faults/seeded
//
// Bugs that were seeded and that no plan has found so far are not in the list. Whether the code guards against them twice or the plans miss
// them is open: an import taken without the exporter's job, a child taken for gone because the cache does not show it, a new job while
// one runs, a job passed on without the child's version.
//
// The build tag keeps it out of the normal run of tests: each bug costs a build.
package seeded
