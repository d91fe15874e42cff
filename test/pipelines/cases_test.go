// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

//go:build externals

package pipelines_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	caseLine  = regexp.MustCompile(`(?m)^//   - (.*)$`)
	namedTest = regexp.MustCompile(`(?:((?:internal|test)/[a-z0-9/]+): )?(Test\w+)`)
)

// The list of acceptance cases names only existing tests, and at least one for each case.
func TestTheListOfCasesIsTrue(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	// A case may continue on the next line.
	cases := caseLine.FindAllStringSubmatch(strings.ReplaceAll(string(text), "\n//     ", " "), -1)
	if len(cases) < 40 {
		t.Fatalf("there are %d cases", len(cases))
	}
	for _, line := range cases {
		named := namedTest.FindAllStringSubmatch(line[1], -1)
		if len(named) == 0 {
			t.Errorf("no test is named: %s", line[1])
		}
		for _, name := range named {
			folder := "."
			if name[1] != "" {
				folder = filepath.Join("..", "..", filepath.FromSlash(name[1]))
			}
			if !declares(t, folder, name[2]) {
				t.Errorf("%s has no %s", folder, name[2])
			}
		}
	}
}

func declares(t *testing.T, folder, test string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "\nfunc "+test+"(t ") {
			return true
		}
	}
	return false
}
