// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package seeded proves that the tests in the folder above find mistakes. Each seeded bug is a replacement in source files, made in copies
// that only the compiler sees; the tests that are built with it must fail.
//
//	go test -tags seeded -timeout 60m -v ./test/faults/promotions/seeded
//
// The build tag keeps it out of the normal run of tests: each bug costs a build.
package seeded
