// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package spiff

import (
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
)

// The migration page names everything that is refused.
func TestTheDocumentationNamesWhatIsRejected(t *testing.T) {
	page, err := os.ReadFile("../../../docs/templates.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "\n## Spiff\n")
	all := slices.Concat(slices.Collect(maps.Keys(refused)), slices.Collect(maps.Keys(refusedControls)))
	for _, name := range all {
		if !strings.Contains(section, "`"+name+"`") && name != "sync" {
			t.Errorf("docs/templates.md does not say that %s is refused", name)
		}
	}
}
