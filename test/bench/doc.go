// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package bench measures what installations cost, with the binary that users run on an API server of its own. It prints ratios of
// figures from one run, because absolute ones depend on the machine: requests per installation, the time that it takes compared
// with a client that does nothing but the same writes, and compared with itself in a namespace that is a hundred times as full.
//
//	make bench
//	go test -run '^$' -bench Roots -benchtime 1x ./test/bench -args -roots 200
package bench
