// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package fleet follows the applications of pipelines in the clusters where they run.
//
// A pipeline refers to applications. Whatever is referred to is followed; whatever is no longer referred to is let go, with its watch,
// its connection and all goroutines. So the number of watches follows from the pipelines that exist and from nothing else.
//
// # The parts
//
// The index counts references: which pipelines mean an application, which applications need a watch, which watches need a cluster. An
// event costs one look into it, however many pipelines there are.
//
// A link belongs to one cluster that is referred to. It reads the GitopsCluster or Target and its Secret in the management cluster,
// follows these objects by name, and makes a connection by way of package target, which parses kubeconfigs, guards addresses and keeps one
// client per credential. When the kubeconfig changes, everything that came from the old one ends before anything of the new one is used.
//
// A feed belongs to one kind in one cluster. It lists the kind and watches it, and keeps of each object only the judgement of Judge.
// All that can take time happens in the goroutines of links and feeds; Refer, Forget and Read never wait for a cluster.
//
// A cluster that cannot be read is no empty cluster: each application there has a Problem that says what is wrong, and keeps what was
// last seen. Feeds and links try again by themselves, in growing intervals of their own.
package fleet
