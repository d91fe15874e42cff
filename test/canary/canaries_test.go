// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package canary_test

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/url"
	"strings"
	"testing"
)

// disguises returns the forms in which a planted value would still leak.
func disguises(canary string) []string {
	padded := func(before string) string {
		text := base64.StdEncoding.EncodeToString([]byte(before + canary))
		return text[4 : len(text)-4]
	}
	return []string{
		canary, canary[:len(canary)-2], canary[2:], strings.ToLower(canary), strings.ToUpper(canary), url.QueryEscape(canary), hex.EncodeToString([]byte(canary)),
		base64.StdEncoding.EncodeToString([]byte(canary)), padded("x"), padded("xx"), padded("xxx"),
	}
}

// prefix is how much of a form is looked up: less than any form has.
const prefix = 8

// sought are the forms of planted values, by their beginnings.
type sought map[string][]shape

type shape struct{ form, planted string }

func seek(canaries map[string]string) sought {
	all := sought{}
	for planted, canary := range canaries {
		for _, form := range disguises(canary) {
			all[form[:prefix]] = append(all[form[:prefix]], shape{form, planted})
		}
	}
	return all
}

// in returns what was planted in a text, with its surroundings.
func (s sought) in(text string) map[string]string {
	found := map[string]string{}
	for at := range max(0, len(text)-prefix+1) {
		for _, t := range s[text[at:at+prefix]] {
			if strings.HasPrefix(text[at:], t.form) {
				found[t.planted] = text[max(0, at-120):min(len(text), at+len(t.form)+60)]
			}
		}
	}
	return found
}

// wantNone fails for each place where a canary was found.
func (w *world) wantNone(canaries map[string]string) {
	w.Helper()
	all := seek(canaries)
	for place, text := range w.everythingSaid() {
		if text == "" {
			w.Errorf("nothing is known of %s", place)
		}
		for planted, shown := range all.in(text) {
			w.Errorf("%s shows what was planted in %s: ...%s...", place, planted, shown)
		}
	}
}

// canaryOf returns a value that is valid hardly anywhere, and different for each place.
func canaryOf(place int) string { return fmt.Sprintf("Kq%02d_cAnary+%02dZx", place, place) }

func TestTheSearchFindsEveryDisguise(t *testing.T) {
	canary := canaryOf(7)
	for _, text := range []string{
		canary, strings.ToUpper(canary), "x" + canary[:15] + "...", base64.StdEncoding.EncodeToString([]byte("user:" + canary)), url.QueryEscape(canary),
	} {
		if found := seek(map[string]string{"it": canary}).in("before " + text + " after"); found["it"] == "" {
			t.Errorf("%q is not found", text)
		}
	}
}
