// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package gitserver runs Git's own server, git http-backend, over TLS on loopback, with a certificate and a password of its own, and
// makes commits like a person would, with the git command.
package gitserver
