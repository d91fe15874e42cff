// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package node runs a real cluster node beside the embedded control plane: containerd, kubelet, scheduler, controller manager, proxy and
// name server, as plain processes in their own namespaces.
//
// Guarantees:
//
//   - Everything of the node lives in namespaces for mounts, processes, network, host name and IPC, below one first process. When that
//     process ends, after Stop or because its parent has ended, the kernel ends all others and removes their mounts and interfaces.
//   - The leftovers, cgroups and an interface that was not moved to the node yet, carry the identity of the process that created
//     them. Stop removes them, and the next Claim on the machine removes those of killed processes.
//   - The node only reaches this machine, and this machine reaches the node and its pods. The firewall rules and kernel settings of the
//     machine do not change.
//   - All files are in the folder "node" of the control plane's data directory.
package node
