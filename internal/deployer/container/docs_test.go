// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package container_test

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

func TestTheExampleOfTheManualIsAccepted(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "deployers", "container.md"))
	if err != nil {
		t.Fatal(err)
	}
	examples := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllSubmatch(page, -1)
	if len(examples) != 1 {
		t.Fatalf("found %d examples", len(examples))
	}
	w := newWorld(t)
	w.process("")
	w.pod(w.item("example", string(examples[0][1])))
}
