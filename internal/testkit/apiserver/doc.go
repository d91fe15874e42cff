// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package apiserver runs a real Kubernetes API server, with its etcd, as a sub-process of a test.
//
// Package program builds it; Start runs it and returns when it serves. The sub-process reads its standard input, whose other end we hold,
// and stops when that closes, so that no server outlives a test process, not even a killed one.
//
// Tests use it through package testkit.
package apiserver
