// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package gotemplate

import (
	"os"
	"strings"
	"testing"
)

// The migration page names everything that is refused.
func TestTheDocumentationNamesWhatIsRejected(t *testing.T) {
	page, err := os.ReadFile("../../../docs/templates.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "\n## GoTemplate\n")
	section, _, _ = strings.Cut(section, "\n## Spiff\n")
	for name := range refused {
		if !strings.Contains(section, "`"+name+"`") {
			t.Errorf("docs/templates.md does not say that %s is refused", name)
		}
	}
}
