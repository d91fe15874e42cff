// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package subprocess

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestOutputKeepsTheNewestPart(t *testing.T) {
	var o output
	for i := range 3000 {
		fmt.Fprintf(&o, "line %d\n", i)
	}
	if kept := o.String(); len(kept) != keptOutput || !strings.HasSuffix(kept, "line 2999\n") {
		t.Errorf("kept %d bytes, the last of them %q", len(kept), kept[len(kept)-20:])
	}
}

func TestOutputShowsWholeLines(t *testing.T) {
	var lines []string
	o := output{notice: func(line string) { lines = append(lines, line) }}
	for _, piece := range []string{"on", "e\ntwo\nthr", "ee\n", "unfinished"} {
		fmt.Fprint(&o, piece)
	}
	if want := []string{"one", "two", "three"}; !slices.Equal(lines, want) {
		t.Errorf("showed %q, want %q", lines, want)
	}
}
