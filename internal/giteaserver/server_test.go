// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package giteaserver

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
)

func TestErrorsShowNoSecrets(t *testing.T) {
	token := strings.Repeat("0123456789", 4)
	tests := map[string]struct{ output, want string }{
		"a password": {"generated random password is 'aB3dE'\nfailed", "generated random password is <masked>\nfailed"},
		"a password with an apostrophe": {
			"generated random password is 'aB'3dE'\nit 'failed'", "generated random password is <masked>\nit 'failed'",
		},
		"a token":         {"Access token was successfully created... " + token + "\n", "Access token was successfully created... <masked>\n"},
		"both":            {"random password is 'x' " + token, "random password is <masked> <masked>"},
		"two tokens":      {token + "\n" + token, "<masked>\n<masked>"},
		"nothing secret":  {"CreateUser: user already exists [name: espalier]", "CreateUser: user already exists [name: espalier]"},
		"a longer number": {token + "0", token + "0"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := withoutSecrets(test.output); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// answering returns a server of which the given handler answers on its port.
func answering(t *testing.T, handler http.HandlerFunc) *Server {
	t.Helper()
	other := httptest.NewServer(handler)
	t.Cleanup(other.Close)
	address, err := url.Parse(other.URL)
	if err != nil {
		t.Fatal(err)
	}
	port, err := strconv.Atoi(address.Port())
	if err != nil {
		t.Fatal(err)
	}
	return &Server{Settings: Settings{Binary: "/opt/gitea", Dir: t.TempDir(), Port: port}, client: other.Client(), proof: "the proof"}
}

func says(code int, text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(code)
		_, _ = io.WriteString(w, text) // The client shows what is missing.
	}
}

func TestOnlyTheProofIsAccepted(t *testing.T) {
	tests := map[string]struct {
		handler http.HandlerFunc
		problem string // none if it is empty
	}{
		"the proof":           {says(http.StatusOK, "the proof"), ""},
		"a stranger":          {says(http.StatusOK, "Hello"), "another program answers at http://127.0.0.1:"},
		"an empty answer":     {says(http.StatusOK, ""), "another program answers at http://127.0.0.1:"},
		"more than the proof": {says(http.StatusOK, "the proof, and more"), "another program answers at http://127.0.0.1:"},
		"a failure":           {says(http.StatusInternalServerError, ""), "another program answers at http://127.0.0.1:"},
		"no such file": {
			says(http.StatusNotFound, "the proof"),
			"the program at /opt/gitea does not serve its custom files: use Gitea " + MinimumVersion + " or newer",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			err := answering(t, test.handler).awaitProof(t.Context())
			if (err == nil) != (test.problem == "") || err != nil && !strings.Contains(err.Error(), test.problem) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// It polls as long as nobody answers.
func TestTheProofIsAwaited(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var asked atomic.Int32
	s := answering(t, func(http.ResponseWriter, *http.Request) {
		if asked.Add(1) == 2 {
			cancel()
		}
		panic(http.ErrAbortHandler) // It closes the connection.
	})
	if err := s.awaitProof(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("it ends with %v", err)
	}
}

func TestAStrangerLearnsNothing(t *testing.T) {
	asked := make(chan string, 10)
	s := answering(t, func(_ http.ResponseWriter, request *http.Request) {
		body, _ := io.ReadAll(request.Body)
		asked <- request.URL.String() + request.Header.Get("Authorization") + string(body)
	})
	s.InternalToken, s.SecretKey = "the-token", "the-key"
	if err := os.MkdirAll(filepath.Dir(s.proofPath()), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(s.proofPath(), []byte(s.proof), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Shutdown(t.Context(), s.Settings, s.client); !errors.Is(err, errStranger) {
		t.Errorf("the end of a stranger: %v", err)
	}
	if err := s.awaitAnswer(t.Context()); err == nil {
		t.Error("it takes a stranger for Gitea")
	}
	close(asked)
	questions := 0
	for question := range asked {
		questions++
		if question != "/assets/"+proofFile {
			t.Errorf("the stranger is asked %s", question)
		}
	}
	if questions != 2 {
		t.Errorf("the stranger is asked %d times", questions)
	}
}

func TestAnOldGiteaIsRejected(t *testing.T) {
	tests := map[string]string{
		"1.26.4":                 "",
		"1.25.0":                 "",
		"2.0.0":                  "",
		"v1.25.1":                "",
		"1.25.0+dev-12-gabcdef":  "",
		"12.0.1+gitea-1.25.0":    "",
		"development":            "",
		"1.24.7":                 "/opt/gitea is Gitea 1.24.7: use Gitea 1.25 or newer",
		"1.9.6":                  "/opt/gitea is Gitea 1.9.6: use Gitea 1.25 or newer",
		"0.99.0":                 "/opt/gitea is Gitea 0.99.0: use Gitea 1.25 or newer",
		"12.0.1+gitea-1.22.0":    "/opt/gitea is Gitea 12.0.1+gitea-1.22.0: use Gitea 1.25 or newer",
		"1.24.0+rc1-3-g0a1b2c3d": "/opt/gitea is Gitea 1.24.0+rc1-3-g0a1b2c3d: use Gitea 1.25 or newer",
	}
	for version, want := range tests {
		t.Run(version, func(t *testing.T) {
			s := answering(t, says(http.StatusOK, `{"version": "`+version+`"}`))
			s.Inherit = true // without a proof
			err := s.awaitAnswer(t.Context())
			if want == "" && err != nil || want != "" && (err == nil || err.Error() != want) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestAnErrorOfGiteaIsReturned(t *testing.T) {
	s := answering(t, says(http.StatusConflict, " it exists already\n"))
	err := s.Call(t.Context(), Login{}, Request{Path: "/user"})
	if want := "GET /user: Gitea returned HTTP 409: it exists already"; err == nil || err.Error() != want {
		t.Errorf("got %v", err)
	}
}

func TestWrite(t *testing.T) {
	dir := t.TempDir()
	tests := map[string]struct {
		settings Settings
		problem  string
	}{
		"usual characters":             {Settings{Dir: dir}, ""},
		"a static folder":              {Settings{Dir: dir, Static: "/a folder; with #signs"}, ""},
		"a backtick":                   {Settings{Dir: dir + "/a`b"}, "a`b"},
		"a line break":                 {Settings{Dir: dir + "/a\nb"}, `a\nb`},
		"a backtick beside the binary": {Settings{Dir: dir, Static: "/static`"}, "/static`"},
		"a line break in a key":        {Settings{Dir: dir, Key: "/key\n"}, `/key\n`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			err := test.settings.Write()
			if test.problem == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), test.problem) || !strings.Contains(err.Error(), "choose another directory") {
				t.Errorf("got %v", err)
			}
		})
	}
	text, err := os.ReadFile(Settings{Dir: dir}.configPath())
	if err != nil {
		t.Fatal(err)
	}
	if want := "\nWORK_PATH = `" + dir + "`\n"; !strings.Contains(string(text), want) {
		t.Errorf("the configuration lacks %q:\n%s", want, text)
	}
}
