// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package offline renders installations from manifests, without a cluster.
//
// It is the shell around the pure packages that a controller is as well: it reads objects, gives them to the functions of
// packages blueprint and dataflow, and keeps what they return. It decides nothing itself, so that what it gives is what a
// controller would write.
//
// Words:
//
//   - manifest: one document of a file.
//   - world: all objects that are known, those of the manifests and those that were rendered. It stands in for the
//     namespaces of a cluster.
//   - path: the names of an installation and those above it as blueprints call them, such as shop/database.
//   - given exports: what a user says an installation exports, because nothing is deployed here that could.
package offline
