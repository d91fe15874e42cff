// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package marker writes a revision into the marked places of a YAML file:
//
//	version: 1.2.3 # {"$promotion": "default:podinfo:prod"}
//
// The marker is a comment after the scalar, or on its own line above it. Only the bytes of the scalar change; comments, order,
// indentation, line breaks and every other value stay as they are. This is verified before a result is returned: the new file is parsed,
// and must only differ from the old one in the marked scalars.
package marker
