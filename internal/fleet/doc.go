// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package fleet follows the applications of pipelines in the clusters where they run.
//
// A pipeline refers to applications. Whatever is referred to is followed; whatever is no longer referred to is dropped, with its watch, its
// connection and all goroutines. So the number of watches only depends on the pipelines that exist.
//
// # The parts
//
// The index counts references: which pipelines refer to an application, which applications need a watch, which watches need a cluster. An
// event costs one lookup, however many pipelines there are.
//
// A link belongs to one referenced cluster. It reads the GitopsCluster or Target and its Secret in the management cluster, follows these
// objects by name, and connects through package target, which parses kubeconfigs, guards addresses and keeps one client per credential.
// When the kubeconfig changes, everything that came from the old one ends before anything of the new one is used.
//
// A feed belongs to one kind in one cluster. It lists and watches the kind, and only keeps the judgement of Judge on each object.
// Everything that can take time happens in the goroutines of links and feeds; Refer, Forget and Read never wait for a cluster.
//
// A cluster that cannot be read is not an empty cluster: each application there has a Problem that says what is wrong, and keeps what was
// last seen. Feeds and links retry by themselves, each with its own backoff.
package fleet
