// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package controller connects the kinds to the API server: for each kind it sets up the
// watches, reads what the pure packages decide on, and carries out what they decided.
package controller
