// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package controller connects the kinds to the API server: for each kind it sets up the watches, reads the facts for the pure packages, and
// executes their decisions.
package controller
