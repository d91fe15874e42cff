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

// disguises are the forms in which a planted value would still be one.
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

const traces = "the traces"

// wantNone fails for each place at which one of the canaries was seen.
func (w *world) wantNone(canaries map[string]string) {
	w.Helper()
	for place, text := range w.everythingSaid() {
		if text == "" && place != traces { // which tell of runs that have ended, and there may be none
			w.Errorf("nothing is known of %s", place)
		}
		for planted, canary := range canaries {
			for _, form := range disguises(canary) {
				if at := strings.Index(text, form); at >= 0 {
					w.Errorf("%s shows what was planted in %s: ...%s...", place, planted, text[max(0, at-120):min(len(text), at+len(form)+60)])
					break
				}
			}
		}
	}
}

// canaryOf is a value that is valid hardly anywhere, and different for each place.
func canaryOf(place int) string { return fmt.Sprintf("Kq%02d_cAnary+%02dZx", place, place) }

func TestTheSearchFindsEveryDisguise(t *testing.T) {
	canary := canaryOf(7)
	for _, text := range []string{
		canary, strings.ToUpper(canary), "x" + canary[:15] + "...", base64.StdEncoding.EncodeToString([]byte("user:" + canary)), url.QueryEscape(canary),
	} {
		found := false
		for _, form := range disguises(canary) {
			found = found || strings.Contains(text, form)
		}
		if !found {
			t.Errorf("%q is not found", text)
		}
	}
}
