// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package offline renders installations from manifests, without a cluster.
//
// Like a controller, it is a shell around the pure packages: it reads objects, passes them to the functions of packages blueprint and
// dataflow, and keeps the results. It decides nothing itself, so its output is what a controller would write.
//
// Words:
//
//   - manifest: one document of a file.
//   - world: all known objects, those of the manifests and the rendered ones. It stands in for the namespaces of a cluster.
//   - path: the names of an installation and those above it as in the blueprints, such as shop/database.
//   - given exports: what a user says an installation exports, because nothing is deployed here that could export it.
package offline
