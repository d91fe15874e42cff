// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package manager runs controllers: it lists all of them, selects the requested ones, and builds the controller-runtime manager that they
// share. The binary espalier-controller runs it in a cluster, "espalier up" beside its own API server.
package manager
