// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package promotions measures what pipelines cost: many of them, with three environments each, over many clusters, with the binary that
// users run. The benchmark plays Flux and writes what applications say of themselves.
//
// The clusters are logical ones. Several share an API server, where each is a namespace with a credential that allows nothing else, so
// that each sees its own applications only, and the controller has a connection and watches for each.
//
//	make bench
//	go test -run '^$' -bench . -benchtime 1x ./test/bench/promotions -args -pipelines 100 -clusters 10
package promotions
