// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package providers_test

import (
	"bytes"
	"encoding/json"
	"encoding/pem"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"espalier.dev/api/pipelines/v1alpha1"
	"espalier.dev/internal/dial"
	"espalier.dev/internal/gitprovider"
	"espalier.dev/internal/gitprovider/providers"
)

const (
	token    = "canary-token-0123456789"
	password = "canary-password-987"
	robot    = "robot"   // the owner of the token
	reviser  = "reviser" // merges and closes by hand
)

// fake is a provider of one repository, on loopback with its own certificate. It accepts the requests that the provider's documentation
// describes; any other fails the test.
type fake struct {
	t      *testing.T
	book   *book
	mux    *http.ServeMux
	server *httptest.Server
	// header that every request must have.
	header map[string]string
	// refusal is the response to an invalid token.
	refusal func(http.ResponseWriter)
	kind    v1alpha1.GitProviderType
	path    string // of the repository in its URL
	size    int    // of its smallest page
	count   count
	// denied reports whether the token lacks the right to a path.
	denied func(path string) bool
}

// count of requests, and of those that received status 304.
type count struct{ asked, spared int }

func (f *fake) counted() count {
	f.book.Lock()
	defer f.book.Unlock()
	return f.count
}

func newFake(t *testing.T, kind v1alpha1.GitProviderType) *fake {
	f := &fake{t: t, book: newBook(), mux: http.NewServeMux(), kind: kind}
	f.server = httptest.NewTLSServer(f)
	t.Cleanup(f.server.Close)
	f.refusal = func(w http.ResponseWriter) { f.say(w, http.StatusUnauthorized, object{"message": "Bad credentials"}) }
	return f
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	for name, want := range f.header {
		got := r.Header.Get(name)
		if name == "Authorization" && got != want && got != "" {
			f.refusal(w)
			return
		}
		if got != want {
			f.t.Errorf("%s %s: header %s is %q, want %q", r.Method, r.URL, name, got, want)
		}
	}
	if agent := r.Header.Get("User-Agent"); !strings.HasPrefix(agent, "espalier/") {
		f.t.Errorf("%s %s: the user agent is %q", r.Method, r.URL, agent)
	}
	f.book.Lock()
	defer f.book.Unlock()
	f.count.asked++
	if f.denied != nil && f.denied(r.URL.Path) {
		f.say(w, http.StatusForbidden, object{"message": "Resource not accessible by personal access token"})
		return
	}
	if _, pattern := f.mux.Handler(r); pattern == "" {
		f.t.Errorf("the documentation knows no request like %s %s", r.Method, r.URL)
	}
	f.mux.ServeHTTP(w, r)
}

type object = map[string]any

func (f *fake) say(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	if err := json.NewEncoder(w).Encode(body); err != nil {
		f.t.Error(err)
	}
}

// query checks that a request has exactly these parameters; a star matches any value.
func (f *fake) query(r *http.Request, want map[string]string) {
	f.t.Helper()
	got := map[string]string{}
	for name, values := range r.URL.Query() {
		got[name] = values[0]
		if want[name] == "*" && len(values) == 1 {
			got[name] = "*"
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		f.t.Errorf("%s %s has other parameters (-want +got):\n%s", r.Method, r.URL.Path, diff)
	}
}

// body reads the JSON of a request into a struct that has all fields of the provider.
func (f *fake) body(r *http.Request, into any) {
	f.t.Helper()
	text, err := io.ReadAll(r.Body)
	if err != nil {
		f.t.Error(err)
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		f.t.Errorf("%s %s: body %s: %v", r.Method, r.URL, text, err)
	}
	if got := r.Header.Get("Content-Type"); got != "application/json" {
		f.t.Errorf("%s %s: content type %q", r.Method, r.URL, got)
	}
}

// record returns the pull request that a request names, or responds that it does not exist.
func (f *fake) record(w http.ResponseWriter, r *http.Request) *record {
	number, err := strconv.ParseInt(r.PathValue("number"), 10, 64)
	if err != nil {
		f.t.Errorf("%s %s: %v", r.Method, r.URL, err)
	}
	found := f.book.find(number)
	if found == nil {
		f.say(w, http.StatusNotFound, object{"message": "404 Not found"})
	}
	return found
}

func number(f *fake, text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		f.t.Errorf("%q is not a number", text)
	}
	return n
}

// moment returns a time for JSON, or null.
func moment(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.Format(time.RFC3339)
}

// person is null if the person is unknown.
func person(key, name string) any {
	if name == "" {
		return nil
	}
	return object{key: name, "id": 4}
}

// text is null if it is empty.
func text(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// authorityOf returns the certificate of a server, in PEM.
func authorityOf(server *httptest.Server) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
}

// The following methods implement scene.

func (f *fake) settings() providers.Settings {
	return providers.Settings{
		Type:        f.kind,
		URL:         f.server.URL + f.path,
		Credentials: gitprovider.Credentials{Token: token, CA: authorityOf(f.server)},
		Rules:       dial.Rules{AllowLoopback: true},
	}
}

func (f *fake) push(_ *testing.T, branch string) { f.book.pushed(branch) }

func (f *fake) merge(_ *testing.T, number int64) string {
	f.book.Lock()
	defer f.book.Unlock()
	r := f.book.find(number)
	f.book.end(r, gitprovider.Merged, reviser)
	return r.mergeCommit
}

func (f *fake) closeByHand(_ *testing.T, number int64) {
	f.book.Lock()
	defer f.book.Unlock()
	f.book.end(f.book.find(number), gitprovider.Closed, reviser)
}

func (f *fake) comments(_ *testing.T, number int64) []string {
	f.book.Lock()
	defer f.book.Unlock()
	return f.book.find(number).comments
}

func (f *fake) check(_ *testing.T, number int64, name string, state gitprovider.ChecksState) {
	f.says(number, check{name: name, state: state})
}

// says reports a check for the head commit of a pull request.
func (f *fake) says(number int64, c check) {
	f.book.Lock()
	defer f.book.Unlock()
	f.book.find(number).said(c)
}

func (f *fake) pageSize() int { return f.size }

func (f *fake) people() (string, string) { return robot, reviser }

// fromFork adds a pull request from a branch of the same name in a fork.
func (f *fake) fromFork(_ *testing.T, head, base string) {
	f.book.Lock()
	defer f.book.Unlock()
	f.book.add(record{head: head, base: base, title: "from a fork", fork: true})
}

// want returns a copy of common parameters with others added.
func want(common map[string]string, more ...string) map[string]string {
	result := maps.Clone(common)
	for i := 0; i+1 < len(more); i += 2 {
		result[more[i]] = more[i+1]
	}
	return result
}
