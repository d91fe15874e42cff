// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// folderCell matches "`internal/loop/`" in the table of folders.
var folderCell = regexp.MustCompile("`([a-z0-9/-]+)/`")

// folderRow is a line of the table of folders: its folders, and those that its description names.
type folderRow struct {
	folders, described []string
}

func folderRows(t *testing.T) []folderRow {
	t.Helper()
	page, err := os.ReadFile(filepath.Join(root, "docs", "architecture.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(page), "\n## Folders\n")
	if !found {
		t.Fatal("docs/architecture.md has no section on folders")
	}
	section, _, _ = strings.Cut(section, "\n## ")
	named := func(cell string) []string {
		var folders []string
		for _, match := range folderCell.FindAllStringSubmatch(cell, -1) {
			folders = append(folders, match[1])
		}
		return folders
	}
	var rows []folderRow
	for line := range strings.Lines(section) {
		if cells := strings.Split(line, "|"); len(cells) >= 3 {
			rows = append(rows, folderRow{folders: named(cells[1]), described: named(cells[2])})
		}
	}
	return rows
}

// TestArchitecturePageListsNoFolderThatIsMissing rejects folders that do not exist.
func TestArchitecturePageListsNoFolderThatIsMissing(t *testing.T) {
	exists := func(folder string) bool {
		info, err := os.Stat(filepath.Join(root, folder))
		return err == nil && info.IsDir()
	}
	for _, row := range folderRows(t) {
		for _, folder := range row.folders {
			if !exists(folder) {
				t.Errorf("docs/architecture.md lists %s, which does not exist", folder)
			}
		}
		for _, folder := range row.described {
			below := slices.ContainsFunc(row.folders, func(parent string) bool { return exists(filepath.Join(parent, folder)) })
			if !below && !exists(folder) {
				t.Errorf("docs/architecture.md speaks of %s below %s, which does not exist", folder, strings.Join(row.folders, ", "))
			}
		}
	}
	for _, layer := range layers {
		for _, folder := range layer.folders {
			if !exists(folder) {
				t.Errorf("internal/lint/imports.go gives %s a place, which does not exist", folder)
			}
		}
	}
}

// TestArchitecturePageKnowsTheTree keeps the table of folders in docs/architecture.md complete: it lists every package
// and every layer.
func TestArchitecturePageKnowsTheTree(t *testing.T) {
	listed := map[string]bool{}
	for _, row := range folderRows(t) {
		for _, folder := range row.folders {
			listed[folder] = true
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
