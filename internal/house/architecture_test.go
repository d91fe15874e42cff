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

// folderCell matches "`internal/loop/`" or "`internal/graph/` *" in the first column of the table of folders.
var folderCell = regexp.MustCompile("`([a-z/-]+)/`( \\*)?")

// TestArchitecturePageKnowsTheTree keeps the table of folders in docs/architecture.md honest: what it lists exists,
// unless a star says otherwise, and every package and every layer is listed.
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
			folder, planned := match[1], match[2] != ""
			listed[folder] = true
			_, err := os.Stat(filepath.Join(root, filepath.FromSlash(folder)))
			if exists := err == nil; exists == planned {
				t.Errorf("docs/architecture.md lists %s as planned: %t; it exists: %t", folder, planned, exists)
			}
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
			if folder != "cmd" && folder != "examples" && !isListed(folder) {
				t.Errorf("docs/architecture.md does not list %s", folder)
			}
		}
	}
}
