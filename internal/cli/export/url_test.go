// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package export

import "testing"

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
		if got, left := withoutUser(text); got != want || left != (got != text) {
			t.Errorf("%q is %q, %t", text, got, left)
		}
	}
}
