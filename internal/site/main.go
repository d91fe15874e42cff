// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Command site builds the documentation as static pages, for "make docs": from the README, the pages in docs and the READMEs of examples,
// with everything that they link to. The pages need no server and contact no other host. A link or an anchor that leads nowhere is an
// error.
package main

import (
	"flag"
	"fmt"
	"os"
)

func main() {
	root := flag.String("root", ".", "the tree with the documentation")
	out := flag.String("out", "site", "the folder to write; what was there from an earlier run is removed")
	flag.Parse()
	count, err := build(*root, *out)
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
	fmt.Printf("%d pages; open %s/index.html\n", count, *out)
}
