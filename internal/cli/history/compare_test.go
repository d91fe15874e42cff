// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"encoding/json"
	"slices"
	"testing"
)

// A spec is shown without the user of its URL, which may be a token, and otherwise as it is.
func TestSpecsAreShownWithoutTokens(t *testing.T) {
	for _, address := range []string{"https://t0ken@git.example.com/a", "https://me:t0ken@git.example.com/a"} {
		spec := json.RawMessage(`{"blueprint":{"git":{"revision":"main","url":"` + address + `"}},"context":"12345678901234567890"}`)
		lines, err := side{"present spec", spec}.lines()
		want := []string{"blueprint:", "  git:", "    revision: main", "    url: https://git.example.com/a", `context: "12345678901234567890"`}
		if err != nil || !slices.Equal(lines, want) {
			t.Errorf("%q, %v", lines, err)
		}
	}
	for _, spec := range []string{`{"blueprint":{"ref":"x"},"n":12345678901234567890}`, `{}`, `null`} {
		if got := shown(json.RawMessage(spec)); string(got) != spec {
			t.Errorf("%s is shown as %s", spec, got)
		}
	}
}
