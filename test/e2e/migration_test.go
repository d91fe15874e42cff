// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The page describes the differences for users of Landscaper. Every line of it has a test.
func TestMigrationPageNamesTestsThatExist(t *testing.T) {
	root := filepath.Join("..", "..")
	page, err := os.ReadFile(filepath.Join(root, "docs", "migration.md"))
	if err != nil {
		t.Fatal(err)
	}
	existing := testsIn(t, root)
	for _, name := range regexp.MustCompile(`\bTest[A-Z]\w+`).FindAllString(string(page), -1) {
		if !existing[name] {
			t.Errorf("docs/migration.md names %s, which does not exist", name)
		}
	}
	for number, line := range strings.Split(string(page), "\n") {
		row := strings.HasPrefix(line, "|") && !strings.HasPrefix(line, "|---") && !strings.HasSuffix(line, "| Test |")
		if row && !strings.Contains(line, "`Test") {
			t.Errorf("docs/migration.md:%d: no test shows this", number+1)
		}
	}
}

// testsIn returns the names of all tests below a folder.
func testsIn(t *testing.T, root string) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	declaration := regexp.MustCompile(`(?m)^func (Test\w+)\(t `)
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, found := range declaration.FindAllSubmatch(text, -1) {
			names[string(found[1])] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}
