// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package mutants holds a mutant for each requirement: a small change of the product that breaks exactly this sentence. The tests that
// carry the ID of the requirement in their names must fail with it. A name alone proves nothing; a mutant that dies does.
//
//	go test ./internal/conformance/mutants                                        every mutant can still be made
//	go test -tags mutants ./internal/conformance/mutants -args -only JOB-05       the tests of a requirement kill its mutant
//	make mutants                                                                  those of all requirements do
//	make mutants MUTANTS='-args -update'                          the same, and the results are recorded
package mutants
