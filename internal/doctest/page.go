// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"regexp"
	"strings"
)

// Block is a piece of shell code on a page.
type Block struct {
	// Line is the first line of the code on the page.
	Line int
	Code string
	// Until is the text that a background block prints when it is ready, empty for other blocks.
	Until string
}

const fence = "```"

var mark = regexp.MustCompile(`^<!-- run(?: in background until "([^"]+)")? -->$`)

// ParsePage returns the blocks that are marked to be run. A mark that does not stand directly above a block of shell
// code, and a comment that looks like a mark and is none, are errors: they would be left out in silence.
func ParsePage(page string) ([]Block, error) {
	var blocks []Block
	lines := strings.Split(page, "\n")
	for i := 0; i < len(lines); i++ {
		line := strings.TrimSpace(lines[i])
		if !strings.HasPrefix(line, "<!-- run") {
			continue
		}
		match := mark.FindStringSubmatch(line)
		if match == nil {
			return nil, fmt.Errorf("line %d: cannot make sense of %s", i+1, line)
		}
		code, end, err := readFenced(lines, i+1)
		if err != nil {
			return nil, err
		}
		blocks = append(blocks, Block{Line: i + 3, Code: code, Until: match[1]})
		i = end
	}
	return blocks, nil
}

// readFenced returns the code of the block that opens at a line, and the index of the line that closes it.
func readFenced(lines []string, start int) (code string, end int, err error) {
	if start >= len(lines) || strings.TrimSpace(lines[start]) != fence+"sh" {
		return "", 0, fmt.Errorf("line %d: a mark to run stands above something else than a block of sh", start)
	}
	for end = start + 1; end < len(lines); end++ {
		if strings.TrimSpace(lines[end]) == fence {
			return strings.Join(lines[start+1:end], "\n"), end, nil
		}
	}
	return "", 0, fmt.Errorf("line %d: the block has no end", start+1)
}
