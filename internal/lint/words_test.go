// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestTheTableOfWordsNamesPhrases keeps the rule from passing because it finds no table, or no phrases in it.
func TestTheTableOfWordsNamesPhrases(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, wordsPage))
	if err != nil {
		t.Fatal(err)
	}
	phrases := wrongPhrases(page)
	if len(phrases) < 15 {
		t.Errorf("%s names only %d phrases that are always wrong, in bold in the column \"Not\" of its table", wordsPage, len(phrases))
	}
	for _, p := range phrases {
		if p.right == "" || p.regexp.MatchString(p.right) {
			t.Errorf("instead of %q, %s recommends %q", p.wrong, wordsPage, p.right)
		}
	}
}

func TestAWrongPhraseNamesTheBetterOne(t *testing.T) {
	offences := ruleNamed(t, "words").Check(tree(t, worded("docs/a.md", "made afresh\n").files))
	if len(offences) != 1 || !strings.Contains(offences[0].Message, `"afresh"`) || !strings.HasSuffix(offences[0].Message, ": create") {
		t.Errorf("got %v, want one offence that names the phrase and the better one", offences)
	}
}
