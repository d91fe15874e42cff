// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package target turns a Target into a client of the cluster that it refers to.
//
// Users write Targets, and a kubeconfig is a program: it can start commands, read files and send what it finds to a server of its author's
// choice. So client-go gets no unchecked part of it. ParseKubeconfig checks the raw text against a list of allowed keys, connections use
// the guarded dialer, answers have a size limit, and redirects are not followed.
//
// Clusters keeps one client per credential, shared by all Targets that use it. An unreachable cluster does not affect others: requests to
// it fail at once for a while, instead of blocking a worker. A credential that was replaced or rejected is dropped, and the next call reads
// it again. Objects are followed with reference-counted watches that only carry metadata.
package target
