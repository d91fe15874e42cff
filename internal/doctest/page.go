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
	// Output is what the page shows that the block prints.
	Output Output
}

const fence = "```"

var (
	looksLikeMark = regexp.MustCompile(`^<!-- (run|output)\b`)
	runMark       = regexp.MustCompile(`^<!-- run(?: in background until "([^"]+)")? -->$`)
	outputMark    = regexp.MustCompile(`^<!-- output(?:; varies: (.+))? -->$`)
)

// ParsePage returns the blocks that are marked to be run. A mark that does not stand directly above its block, and a
// comment that looks like a mark and is none, are errors: they would be left out in silence.
func ParsePage(page string) ([]Block, error) {
	var blocks []Block
	lines := strings.Split(page, "\n")
	for i := 0; i < len(lines); i++ {
		line := strings.TrimSpace(lines[i])
		if !looksLikeMark.MatchString(line) {
			continue
		}
		run, output := runMark.FindStringSubmatch(line), outputMark.FindStringSubmatch(line)
		var err error
		switch {
		case run != nil:
			block := Block{Line: i + 3, Until: run[1]}
			block.Code, i, err = readFenced(lines, i+1, "sh")
			blocks = append(blocks, block)
		case output != nil && len(blocks) > 0 && blocks[len(blocks)-1].Output.Text == "":
			start := i + 3
			var text string
			if text, i, err = readFenced(lines, i+1, "text"); err == nil {
				blocks[len(blocks)-1].Output, err = newOutput(start, text, output[1])
			}
		case output != nil:
			err = fmt.Errorf("line %d: no block is run above this output, or it has an output already", i+1)
		default:
			err = fmt.Errorf("line %d: cannot make sense of %s", i+1, line)
		}
		if err != nil {
			return nil, err
		}
	}
	return blocks, nil
}

// readFenced returns the content of the block in a language that opens at a line, and the index of the line that closes it.
func readFenced(lines []string, start int, language string) (content string, end int, err error) {
	if start >= len(lines) || strings.TrimSpace(lines[start]) != fence+language {
		return "", 0, fmt.Errorf("line %d: the mark stands above something else than a block of %s", start, language)
	}
	for end = start + 1; end < len(lines); end++ {
		if strings.TrimSpace(lines[end]) == fence {
			return strings.Join(lines[start+1:end], "\n"), end, nil
		}
	}
	return "", 0, fmt.Errorf("line %d: the block has no end", start+1)
}
