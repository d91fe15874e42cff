// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package reference makes the pages of docs/reference from the code: kinds from their definitions, blueprints and provider
// configurations from the comments of the API types, annotations, conditions, errors, events and metrics from constants and from the
// calls that use them, commands and flags from the commands themselves. It also makes the JSON schemas in the folder schemas. Tests keep
// all of it up to date, and fail when the code knows a word that no page explains. go test ./internal/reference -update rewrites what
// depends on this module alone, tools/generate.sh everything.
package reference
