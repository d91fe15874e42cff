// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package targetsyncs is the controller of TargetSyncs: it reads the source and what was created from it, and writes what
// internal/targetsync decides.
//
// It reaches the source only with the kubeconfig in the TargetSync's own namespace, through the same guarded connections as Targets. It
// watches the source where that is permitted, and reads it every five minutes in any case.
package targetsyncs
