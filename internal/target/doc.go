// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package target turns a Target into a client of the cluster that it means.
//
// A Target is written by a user, and a kubeconfig is a program: it can start commands, read files and send what it finds to a server of
// its author's choice. So nothing of it reaches client-go as it is. ParseKubeconfig reads the raw text against a list of allowed keys,
// connections go through the guarded dialer, answers have a size limit, and redirects are not followed.
//
// Clusters keeps one client per credential, shared by all Targets that lead to it. A cluster that cannot be reached backs off alone:
// requests to it fail at once for a while, instead of holding a worker. A credential that was replaced or refused is dropped, and
// the next call reads it anew. Objects are followed by counted watches that carry metadata only.
package target
