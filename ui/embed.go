// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package ui holds the pages of the web UI as files. They are written in TypeScript and built by "make ui"; a checkout without them still
// compiles, and has a page instead that says so.
package ui

import (
	"embed"
	"io/fs"
)

// Go compiles only if what it embeds exists, so dist has a file that is committed; the built pages come beside it.
//
//go:embed all:dist placeholder
var files embed.FS

// Built reports whether the pages were built before this program was.
func Built() bool {
	_, err := fs.Stat(files, "dist/site/index.html")
	return err == nil
}

// Files returns the pages: index.html, and assets with names that change with what is in them, each with a compressed twin that ends
// in .gz. If the pages were not built, there is only an index.html, which says how to build them.
func Files() fs.FS {
	folder := "placeholder"
	if Built() {
		folder = "dist/site"
	}
	pages, err := fs.Sub(files, folder)
	if err != nil {
		panic(err) // the names above are valid paths
	}
	return pages
}
