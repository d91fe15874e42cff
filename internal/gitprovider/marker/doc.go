// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package marker writes a revision into the places of a YAML file that are marked for it:
//
//	version: 1.2.3 # {"$promotion": "default:podinfo:prod"}
//
// The marker is a comment behind the scalar, or on a line of its own above it. Only the bytes of the scalar change; comments, order,
// indentation, line breaks and every other value stay as they are. That is checked before a result is returned: the new file is read
// again, and must differ from the old one in the marked scalars alone.
package marker
