// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"espalier.dev/internal/cli"
	"espalier.dev/internal/reference"
	"espalier.dev/internal/testkit"
)

// The page lists all commands with their flags, and what other pages of the reference tell people to run exists.
func TestTheReferenceOfCommands(t *testing.T) {
	root := newRoot(cli.NewEnvironment(genericiooptions.NewTestIOStreamsDiscard()))
	docs := filepath.Join("..", "..", "docs", "reference")
	page, err := reference.CommandsPage(filepath.Join("..", ".."), root)
	if err != nil {
		t.Fatal(err)
	}
	testkit.Golden(t, "../../../docs/reference/commands.md", page)
	named := 0
	for _, other := range []string{"errors.md", "conditions.md", "annotations.md"} {
		text, err := os.ReadFile(filepath.Join(docs, other))
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range regexp.MustCompile("`espalier ([a-z][a-z -]*)").FindAllStringSubmatch(string(text), -1) {
			named++
			path := strings.Fields(match[1])
			found, rest, err := root.Find(path)
			if err != nil || found == root || found.HasSubCommands() && len(rest) > 0 {
				t.Errorf("%s names the command espalier %s, which does not exist: %v", other, match[1], err)
			}
		}
	}
	if named < 10 {
		t.Errorf("the pages name %d commands", named)
	}
}
