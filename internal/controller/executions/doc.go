// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package executions connects executions to the API server: it reads the facts for package execution, and executes its decisions.
//
// A job of one deploy item without exports costs four writes: the deploy item, its job, and the status of the execution when the item has
// started and when it has finished. Reads come from the cache. The API server is asked what the cache cannot answer: whether a
// deploy item that the status records and that is not visible is gone, which deploy items exist when an interrupt must miss none, and
// whether all are gone before the finalizer is removed.
package executions
