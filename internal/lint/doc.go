// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package lint checks the rules of this code base that no general linter knows: who may import whom, what a pure
// package may touch, how large a function may grow, and what must not appear in any file. The rules are listed in
// Rules; docs/architecture.md gives the reasons.
//
// A rule works on a Tree, which holds the text and the syntax of every file in the work tree, all Go modules
// included. It sees names, not types: "time.Now" means the identifier Now of the package that the file imports as
// time.
//
// Some rules allow exemptions. One is a comment of the form
//
//	//lint:allow <rule> <reason>
//
// in the doc comment of a declaration, or on the line of the offence or the line above it. The reason is mandatory,
// and an exemption that excuses nothing is itself an offence.
package lint
