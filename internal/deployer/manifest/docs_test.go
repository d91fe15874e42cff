// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package manifest_test

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

func TestTheExamplesOfTheManualAreAccepted(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "deployers", "manifest.md"))
	if err != nil {
		t.Fatal(err)
	}
	examples := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllSubmatch(page, -1)
	if len(examples) != 4 {
		t.Fatalf("found %d examples", len(examples))
	}
	w := newWorld(t)
	for _, example := range examples {
		w.configureRaw(string(example[1]))
		if err := w.start(); err != nil {
			t.Errorf("%s: %v", example[1], err)
		}
	}
}
