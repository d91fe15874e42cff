// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package targetsyncs is the controller of TargetSyncs: it reads the source and the objects created from it, and executes the decisions of
// package targetsync.
//
// It reaches the source only with the kubeconfig in the TargetSync's own namespace, through the same guarded connections as Targets. It
// watches the source where that is permitted, and reads it every five minutes in any case.
package targetsyncs
