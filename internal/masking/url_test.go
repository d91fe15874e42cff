// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package masking

import (
	"errors"
	"testing"
)

func TestWithoutUser(t *testing.T) {
	for text, want := range map[string]string{
		"https://git.example.com/a.git":              "https://git.example.com/a.git",
		"https://me:secret@git.example.com/a.git":    "https://git.example.com/a.git",
		"https://token@git.example.com/a@b?c=d#e":    "https://git.example.com/a@b?c=d#e",
		"https://git.example.com/a@b":                "https://git.example.com/a@b",
		"charts.example.com/stable":                  "charts.example.com/stable",
		"me:secret@charts.example.com/stable":        "charts.example.com/stable",
		"me:sec://ret@charts.example.com/stable":     "charts.example.com/stable",
		"https://me:%zz@git.example.com/a":           "https://git.example.com/a",
		"https://me:sec/ret@git.example.com/a":       "https://git.example.com/a",
		"https://me:secret@other@git.example.com/a@": "https://git.example.com/a@",
		"": "",
	} {
		if got, left := WithoutUser(text); got != want || left != (got != text) {
			t.Errorf("%q is %q, %t", text, got, left)
		}
	}
}

func TestWordsNameNoUserOfAURL(t *testing.T) {
	for text, want := range map[string]string{
		"clone https://token@git.example.com/a.git: gone":       "clone https://<masked>@git.example.com/a.git: gone",
		`Get "https://me:se%2Fcret@git.example.com/a": refused`: `Get "https://<masked>@git.example.com/a": refused`,
		"one https://a@b/c, two ssh://d:e@f":                    "one https://<masked>@b/c, two ssh://<masked>@f",
		"pull https://registry.example.com/a@sha256:0123":       "pull https://registry.example.com/a@sha256:0123",
		"https://git.example.com/a?mail=me@example.com":         "https://git.example.com/a?mail=me@example.com",
		"write to me@example.com":                               "write to me@example.com",
	} {
		if got := Words(errors.New(text)); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
