// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package fleet follows the applications of pipelines in the clusters where they run.
//
// A pipeline refers to applications. Applications with references are followed; applications without are dropped, with their watch,
// connection and all goroutines. So the number of watches only depends on the pipelines that exist.
//
// # The parts
//
// The index counts references: which pipelines refer to an application, which applications need a watch, which watches need a cluster. An
// event costs one lookup, regardless of the number of pipelines.
//
// A link belongs to one referenced cluster. It reads the GitopsCluster or Target and its Secret in the management cluster, follows these
// objects by name, and connects through package target, which parses kubeconfigs, guards addresses and keeps one client per credential.
// When the kubeconfig changes, all uses of the old one end before the new one is used.
//
// A feed belongs to one kind in one cluster. It lists and watches the kind, and keeps only the result of HealthOf for each object.
// Everything that can take time is done in the goroutines of links and feeds; Refer, Forget and Read never wait for a cluster.
//
// A cluster that cannot be read is not an empty cluster: each application there has a Problem with the cause, and keeps its last known
// state. Feeds and links retry on their own, each with a separate backoff.
package fleet
