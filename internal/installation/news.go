// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"slices"
	"strings"
)

// HeardAnnotation remembers, on a root installation, of which job each of its predecessors has last told it. A
// predecessor that repeats itself after a crash finds its job there and asks for nothing.
const HeardAnnotation = "espalier.dev/heard-of"

// Hear adds the job of a predecessor to what an installation has heard, and reports whether it is news.
func Hear(heard, predecessor, job string) (now string, news bool) {
	entries := strings.FieldsFunc(heard, func(r rune) bool { return r == ',' })
	entry := predecessor + "=" + job
	if slices.Contains(entries, entry) {
		return heard, false
	}
	entries = slices.DeleteFunc(entries, func(e string) bool { return strings.HasPrefix(e, predecessor+"=") })
	entries = append(entries, entry)
	slices.Sort(entries)
	return strings.Join(entries, ","), true
}
