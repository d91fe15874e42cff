// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package dataflow moves data between installations: from exports to imports, and through the scopes of a tree.
//
// Words:
//
//   - scope: contains the objects that an installation can import, and those that it exports. Root installations share the root scope of
//     their namespace. Nested ones live in the scope that their parent opens: it contains what the parent imports, and what the siblings
//     export.
//   - context: the name of a scope in labels. It is empty for the root scope, and Inst.NAME for the scope that the installation NAME opens.
//   - reference: the content of dataRef, target and the like: a name within the scope. A leading # means the object of exactly that name,
//     in any scope; NAME[INDEX] and NAME[KEY] mean one target of a list or map in the scope.
//   - context object: a DataObject or Target that contains an import or export. Its name is computed from the context and the reference, so
//     that users can find it and a cluster can be taken over.
//   - mapping: a spiff template with which an installation restructures its imports or exports.
//
// The path of an import: NeedsOf lists the objects to read, Resolve finds the values in them, Construct applies mappings and
// defaults and checks them against the blueprint, Objects returns the context objects for the installation's own scope. The path of an
// export: BuildExports, then Objects.
//
// Everything here is a function of its input. Errors that only a change of a spec or blueprint can fix are terminal; a missing import is
// retryable, and an import that exists but does not belong to the current job is awaited. Errors contain no values, only names and places.
package dataflow
