// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package gitserver runs Git's own server, git http-backend, over TLS on loopback, with its own certificate and password, and creates
// commits as a person would, with the git command.
package gitserver
