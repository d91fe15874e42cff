// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package marker_test

import (
	"os"
	"strings"
	"testing"
)

func TestPIP23_TheExamplesOfTheDocumentationWork(t *testing.T) {
	page, err := os.ReadFile("../../../docs/markers.md")
	if err != nil {
		t.Fatal(err)
	}
	examples := 0
	for paragraph := range strings.SplitSeq(string(page), "\n\n") {
		if !strings.HasPrefix(paragraph, "    ") || !strings.Contains(paragraph, "$promotion") {
			continue
		}
		examples++
		before := strings.ReplaceAll("\n"+paragraph, "\n    ", "\n")
		got, err := prod.Rewrite("example.yaml", []byte(before), "6.6.0")
		if want := strings.ReplaceAll(before, "6.5.0", "6.6.0"); err != nil || string(got.Content) != want || got.Places != 1 {
			t.Errorf("%d places, %v:\n%s", got.Places, err, got.Content)
		}
	}
	if examples != 2 {
		t.Errorf("%d examples", examples)
	}
}
