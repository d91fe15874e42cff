// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package spiff

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

	"github.com/mandelsoft/spiff/spiffing"

	"espalier.dev/internal/template"
)

// originalFunctions are the functions that the original has, according to its documentation.
const originalFunctions = `archive asjson asyaml base64 base64_decode basename bcrypt bcrypt_check bool catch ceil check compact contains contains_ip
	decrypt defined dirname element encrypt env error eval exec exec_uncached features float floor format hash index integer intersect ipset join keys
	lastindex length list_dirs list_files list_to_map lookup_dir lookup_file lower makemap match max_ip md5 md5crypt md5crypt_check merge min_ip mkdir
	num_ip parse parseurl pipe pipe_uncached rand read read_uncached replace replace_match require reverse round semver semvercmp semverincmajor
	semverincminor semverincpatch semvermajor semvermatch semvermetadata semverminor semverpatch semverprerelease semverrelease semversort semvervalidate
	sort split split_match sqrt static_ips string stub substr sync tagdef tempfile trim type uniq upper valid validate wggenkey wgpublickey write
	x509cert x509genkey x509parsecert x509publickey`

// Every function of the original is known: it is either implemented, or refused with a reason.
func TestEveryFunctionOfTheOriginalIsAccountedFor(t *testing.T) {
	for _, name := range strings.Fields(originalFunctions) {
		places := 0
		for _, there := range []bool{builtins[name] != nil, specialForms[name] != nil, refused[name] != ""} {
			if there {
				places++
			}
		}
		if places != 1 {
			t.Errorf("the function %s is in %d of the three lists", name, places)
		}
	}
}

// Every function is called with the name of an environment variable that holds a canary, and with the address of a server
// that counts requests.
func TestNoFunctionReachesOutside(t *testing.T) {
	var visits atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { visits.Add(1) }))
	t.Cleanup(server.Close)
	t.Setenv("ESPALIER_CANARY", canary)
	t.Setenv("SPIFF_FEATURES", "interpolation,control")
	t.Setenv("SPIFF_ENCRYPTION_KEY", canary)
	all := slices.Concat(strings.Fields(originalFunctions), slices.Collect(maps.Keys(builtins)), slices.Collect(maps.Keys(refused)))
	words := []string{
		"PATH",
		"ESPALIER_CANARY",
		"$ESPALIER_CANARY",
		server.URL,
		server.URL + "/x.yaml",
		"file:///proc/self/environ",
		"/proc/self/environ",
		"printenv",
	}
	for _, name := range all {
		for _, word := range words {
			for count := range 4 {
				args := strings.TrimSuffix(strings.Repeat(fmt.Sprintf("%q, ", word), count), ", ")
				tree := map[string]any{"a": fmt.Sprintf("(( %s(%s) ))", name, args), "b": fmt.Sprintf("(( %s(%s) || \"caught\" ))", name, args)}
				compiled, err := CompileTree(template.Source{}, tree, Options{})
				if err != nil {
					t.Fatal(err)
				}
				result, err := compiled.Evaluate(Input{Bindings: bindings(), Files: files})
				if told := jsonText(result) + fmt.Sprint(err); strings.Contains(told, canary) || strings.Contains(told, os.Getenv("PATH")) {
					t.Errorf("%s(%s) tells a variable of the environment", name, args)
				}
			}
		}
	}
	for _, text := range []string{"x ((env(\"ESPALIER_CANARY\"))) y", "(( __ctx ))", "(( ___ ))", "(( __ctx.FILE __ctx.DIR ))"} {
		compiled, err := CompileTree(template.Source{}, map[string]any{"a": text}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		result, err := compiled.Evaluate(Input{})
		if strings.Contains(fmt.Sprint(result, err), canary) {
			t.Errorf("%s tells a variable of the environment", text)
		}
	}
	if visits.Load() > 0 {
		t.Errorf("the server had %d visits", visits.Load())
	}
}

// Proves that the test above can fail: the original does reach outside, even in the mode called private.
func TestTheOriginalReachesOutside(t *testing.T) {
	var visits atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { visits.Add(1) }))
	t.Cleanup(server.Close)
	if got, err := original(`a: (( env("PATH") ))`, nil); err != nil || got != jsonText(map[string]any{"a": os.Getenv("PATH")}) {
		t.Errorf("the variable: got %s and %v", got, err)
	}
	engine := spiffing.Plain()
	node, err := engine.Unmarshal("t", []byte(`a: (( read("`+server.URL+`", "text") ))`))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := engine.Cascade(node, nil); err != nil || visits.Load() == 0 {
		t.Errorf("the server had %d visits: %v", visits.Load(), err)
	}
}
