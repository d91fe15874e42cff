// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package template

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// The page for template authors documents the actual limits.
func TestTheDocumentationNamesTheLimits(t *testing.T) {
	page, err := os.ReadFile("../../docs/templates.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []string{
		fmt.Sprintf("| Length of a template | %d MiB |", DefaultSource>>20),
		fmt.Sprintf("| Steps, each about one call of a simple function | %d,000,000 |", DefaultSteps/1_000_000),
		fmt.Sprintf("| Bytes that functions build, all together | %d MiB |", DefaultMemory>>20),
		fmt.Sprintf("| Length of the output | %d MiB |", DefaultOutput>>20),
		fmt.Sprintf("| Calls of templates and lambdas in each other | %d |", DefaultDepth),
		fmt.Sprintf("| Depth of values and of nested blocks or brackets | %d |", DefaultNesting),
		fmt.Sprintf("| Length of a regular expression | %d bytes |", longestPattern),
	} {
		if !strings.Contains(string(page), row) {
			t.Errorf("docs/templates.md has no row %q", row)
		}
	}
}
