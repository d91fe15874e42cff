// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package targetsyncs is the controller of TargetSyncs: it reads the source and what was made of it, and writes what internal/targetsync
// decides.
//
// The source is reached with the kubeconfig in the TargetSync's own namespace and with nothing else, through the same guarded connections
// as Targets. It is watched where that is allowed, and read every five minutes in any case.
package targetsyncs
