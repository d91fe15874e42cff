// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package dataflow moves data between installations: from exports to imports, and through the scopes of a tree.
//
// Words:
//
//   - scope: where the objects live that an installation can import, and to which it exports. Root installations share
//     the root scope of their namespace. Nested ones live in the scope that their parent opens: it holds what the parent
//     imports, and what the siblings export.
//   - context: the name of a scope in labels. It is empty for the root scope, and Inst.NAME for the scope that the
//     installation NAME opens.
//   - reference: what dataRef, target and the like contain: a name within the scope. A leading # means the object of
//     that very name, whatever the scope; NAME[INDEX] and NAME[KEY] mean one target of a list or map in the scope.
//   - context object: a DataObject or Target that holds an import or export. Its name is computed from the context and
//     the reference, so that users can find it and a cluster can be taken over.
//   - mapping: a spiff template by which an installation restructures what it imports or exports.
//
// The way of an import: NeedsOf says what has to be read, Resolve finds the values in what was read, Construct applies
// mappings and defaults and checks them against the blueprint, Objects gives the context objects for the installation's
// own scope. The way of an export: BuildExports, then Objects.
//
// Everything here is a function of its input. Errors that only a change of a spec or blueprint can mend are terminal; an
// import that is not there yet is retryable, and one that is there but not of the current job is waited for. No error
// contains a value, only names and places.
package dataflow
