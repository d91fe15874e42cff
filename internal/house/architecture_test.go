// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package house

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// folderCell matches "`internal/loop/`" in the first column of the table of folders.
var folderCell = regexp.MustCompile("`([a-z/-]+)/`")

// TestArchitecturePageKnowsTheTree keeps the table of folders in docs/architecture.md complete: it lists every package
// and every layer.
func TestArchitecturePageKnowsTheTree(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, "docs", "architecture.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(page), "\n## Folders\n")
	if !found {
		t.Fatal("docs/architecture.md has no section on folders")
	}
	section, _, _ = strings.Cut(section, "\n## ")
	listed := map[string]bool{}
	for line := range strings.Lines(section) {
		cells := strings.Split(line, "|")
		if len(cells) < 3 {
			continue
		}
		for _, match := range folderCell.FindAllStringSubmatch(cells[1], -1) {
			listed[match[1]] = true
		}
	}
	isListed := func(folder string) bool {
		for known := range listed {
			if within(folder, known) {
				return true
			}
		}
		return false
	}
	tree, err := Load(os.DirFS(root))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range tree.goFiles(everyFile) {
		if !isListed(file.Dir()) {
			t.Errorf("docs/architecture.md does not list %s", file.Dir())
			listed[file.Dir()] = true
		}
	}
	for _, layer := range layers {
		for _, folder := range layer.folders {
			if folder != "cmd" && !isListed(folder) {
				t.Errorf("docs/architecture.md does not list %s", folder)
			}
		}
	}
}
