// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package gitremote changes a few files of a remote Git repository, over HTTPS: it reads the tips of branches, fetches the newest commits
// of some, creates a commit, and pushes it.
//
// Nothing is checked out. Files are read from and written to Git's objects, so a repository can neither place a file anywhere, nor run a
// hook, nor use a symbolic link or a submodule. Content from a server is stored in a temporary directory, and limited in every dimension
// before it is unpacked.
//
// A push names the required current commit of the branch. The server compares it, so a push in between is never overwritten.
package gitremote
