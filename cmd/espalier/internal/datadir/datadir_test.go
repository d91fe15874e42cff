// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package datadir

import "testing"

func TestDefault(t *testing.T) {
	tests := map[string]struct{ xdg, home, want string }{
		"XDG":           {"/xdg", "/me", "/xdg/espalier"},
		"no XDG":        {"", "/me", "/me/.local/share/espalier"},
		"relative XDG":  {"xdg", "/me", "/me/.local/share/espalier"},
		"XDG, no home":  {"/xdg", "", "/xdg/espalier"},
		"none of these": {"", "", ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Setenv("XDG_DATA_HOME", test.xdg)
			t.Setenv("HOME", test.home)
			got, err := Default()
			if got != test.want || (err == nil) != (test.want != "") {
				t.Errorf("got %q, %v", got, err)
			}
		})
	}
}
