// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"cmp"
	"slices"
	"strings"

	"espalier.dev/internal/version"
)

// referenceFolder contains the pages that explain words.
const referenceFolder = "docs/reference"

// Word is a code or a reason that the product uses.
type Word struct {
	Is string
	// Area is the part of the product that uses it.
	Area string
	// Means and Do say what it means and what to do about it, as Markdown of a page in the folder of the reference. Only words of errors have
	// advice.
	Means, Do string
	// Page is the section of the reference that explains it.
	Page string
}

// Reference returns the place in the documentation that explains the word.
func (w Word) Reference() string { return version.Page(referenceFolder + "/" + w.Page) }

// Words returns all words that the documentation explains, sorted. A word that several parts of the product use occurs several times.
func Words() []Word { return slices.Clone(documented) }

// NearestWords returns some words that are similar to a text, the most similar first.
func NearestWords(text string) []string {
	const most, shortestPart = 5, 4
	text = strings.ToLower(text)
	far := map[string]int{}
	for _, word := range documented {
		name := strings.ToLower(word.Is)
		steps := distance(text, name)
		if steps <= 1+len(text)/4 || len(text) >= shortestPart && strings.Contains(name, text) {
			far[word.Is] = steps
		}
	}
	var names []string
	for name := range far {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(cmp.Compare(far[a], far[b]), cmp.Compare(a, b)) })
	return names[:min(most, len(names))]
}

// distance is how many letters must be inserted, removed or replaced to make one text of the other.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replaced := diagonal
			if a[i] != b[j] {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(replaced, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}
