// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package gotemplate

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"espalier.dev/internal/template"
)

// Every function is called with the name of an environment variable that holds a canary, and with the address of a server
// that counts requests, in every plausible number of arguments.
func TestNoFunctionReachesOutside(t *testing.T) {
	var visits atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { visits.Add(1) }))
	t.Cleanup(server.Close)
	t.Setenv("ESPALIER_CANARY", canary)
	host := strings.TrimPrefix(server.URL, "http://")
	words := []string{
		"PATH",
		"ESPALIER_CANARY",
		"$ESPALIER_CANARY",
		"${ESPALIER_CANARY}",
		server.URL,
		server.URL + "/x",
		host,
		"file:///proc/self/environ",
		"/proc/self/environ",
	}
	calls := 0
	for _, name := range slices.Sorted(maps.Keys(knownFunctions(nil))) {
		for _, word := range words {
			for count := range 4 {
				text := fmt.Sprintf("{{ %s%s }}", name, strings.Repeat(fmt.Sprintf(" %q", word), count))
				compiled, err := Compile(template.Source{Text: text}, Options{})
				if err != nil {
					continue
				}
				calls++
				output, err := compiled.Render(Input{Bindings: bindings(), Files: files})
				if told := output + fmt.Sprint(err); strings.Contains(told, canary) || strings.Contains(told, os.Getenv("PATH")) {
					t.Errorf("%s tells a variable of the environment", text)
				}
			}
		}
	}
	if visits.Load() > 0 {
		t.Errorf("the server had %d visits", visits.Load())
	}
	if calls < 1000 {
		t.Errorf("only %d calls were tried", calls)
	}
	response, err := http.Get(server.URL)
	if err != nil || visits.Load() != 1 {
		t.Fatalf("the server does not count: %v", err)
	}
	response.Body.Close()
}

// The same template gives the same output, whichever functions it calls and however often it is rendered.
func TestEveryFunctionIsDeterministic(t *testing.T) {
	for text := range functionCases {
		compiled := compile(t, text)
		first, firstErr := compiled.Render(Input{Bindings: bindings(), Files: files})
		for range 5 {
			again, err := compiled.Render(Input{Bindings: bindings(), Files: files})
			if again != first || fmt.Sprint(err) != fmt.Sprint(firstErr) {
				t.Fatalf("%s gives %q and %v, and then %q and %v", text, first, firstErr, again, err)
			}
		}
	}
}
