// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package executions connects executions to the API server: it reads what package execution decides on, and carries out
// what it decided.
//
// In a job of one deploy item that has no exports it asks the API server for four writes: the deploy item, its job, and
// its own status when the item was started and when it has finished. It reads from the cache. The API server itself is
// asked where the cache cannot answer: whether a deploy item that the status records and that is not visible is gone,
// which deploy items exist when an interrupt must miss none, and whether all are gone before the finalizer goes.
package executions
