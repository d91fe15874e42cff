// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package blueprint reads blueprints and turns an installation with its imports into the required objects: deploy
// items, nested installations, the state of its templates, and its exports.
//
// Words:
//
//   - files: the directory of a blueprint, given inline or read from elsewhere. A template can read nothing else.
//   - execution: one list of templates in a blueprint: import, deploy, subinstallation or export.
//   - executor: one template of such a list.   - state: values that a template stores for its next run.
//
// Everything here is a function of its input. The controllers and the offline tools call the same functions, so that
// what a tool prints is what a controller does.
package blueprint
