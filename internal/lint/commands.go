// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"regexp"
	"strings"
)

var (
	shellBlock = regexp.MustCompile("^\\s*```(sh|bash|shell)$")
	// runOrNot matches the comments above such a block. Whether CI runs the blocks that are marked to be run is checked by internal/doctest.
	runOrNot = regexp.MustCompile(`^\s*<!-- (run|run in background until "[^"]+"|not run: \S.*) -->$`)
)

// findUnmarkedCommands searches pages for shell code that is neither run nor says why not. It has one language, by which marks and tools
// find it.
func findUnmarkedCommands(tree *Tree) []Offence {
	var offences []Offence
	for _, file := range tree.Files {
		if !isPage(file.Path) {
			continue
		}
		above := ""
		for i, line := range strings.Split(string(file.Text), "\n") {
			switch block := shellBlock.FindStringSubmatch(line); {
			case block == nil:
			case block[1] != "sh":
				offences = append(offences, Offence{Path: file.Path, Line: i + 1, Message: "write the language of shell code as sh, not " + block[1]})
			case !runOrNot.MatchString(above):
				message := "write <!-- run --> above these commands, or <!-- not run: REASON -->"
				offences = append(offences, Offence{Path: file.Path, Line: i + 1, Message: message})
			}
			above = line
		}
	}
	return offences
}
