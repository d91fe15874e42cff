// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package node runs a real node of a cluster beside the embedded control plane: containerd, kubelet, scheduler, controller manager,
// proxy and name server, as plain processes in namespaces of their own.
//
// What it promises:
//
//   - Everything of the node lives in namespaces for mounts, processes, network, host name and IPC, below one first process. When
//     that ends, because of Stop or because the process that started it is gone, the kernel ends all others and takes their mounts
//     and interfaces away.
//   - What the kernel leaves, cgroups and an interface that did not reach the node yet, carries the identity of the process that
//     made it. Stop removes it, and the next Claim on the machine removes what killed processes have left.
//   - The node reaches this machine and nothing beyond, and this machine reaches the node and its pods. No rule of its firewall
//     and no setting of its kernel changes.
//   - Files lie in the folder "node" of the control plane's data directory, and nowhere else.
package node
