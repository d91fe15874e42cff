// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package controlplane runs etcd and kube-apiserver inside this process: a real
// Kubernetes API on loopback that needs neither root nor a network nor any other
// binary.
//
// Guarantees:
//
//   - Only loopback. The API server listens on 127.0.0.1 with TLS; etcd listens on a
//     unix socket inside a directory that only the owner may enter.
//   - Each data directory has its own certificate authority, administrator
//     credential and service account key, created on first use and stored with mode 0600.
//   - One process per data directory. The error of a second one names the first.
//   - A Start that fails leaves nothing running and, when ephemeral, no files.
//   - Stop ends the cluster controllers, then the API server, then etcd, and only
//     then removes the files of an ephemeral control plane.
//   - Several control planes may run in one process.
//
// It is not a cluster: there are no nodes, no scheduler and no controller
// manager. Options.ClusterControllers adds the few controllers without which an API
// server does not behave like one: namespace deletion, garbage collection, the
// aggregation of cluster roles, the default service account of each namespace and
// the Secrets that hold tokens of service accounts.
//
// Kubernetes keeps its feature gates and its log (klog) in global variables. Start
// therefore builds API servers under a lock, and the API servers of one process
// share their log: each log receives the lines of all of them. From the first Start
// on, klog writes nowhere else, and a fatal error inside Kubernetes or etcd ends the
// goroutine in which it occurs instead of the process.
package controlplane
