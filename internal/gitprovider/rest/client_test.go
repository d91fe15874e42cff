// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"espalier.dev/internal/dial"
	"espalier.dev/internal/failure"
	"espalier.dev/internal/gitprovider"
)

const canary = "canary-0123456789"

// clientTo returns a client for a server, which it trusts through the CA in its credentials.
func clientTo(t *testing.T, handler http.HandlerFunc) *Client {
	t.Helper()
	server := httptest.NewTLSServer(handler)
	t.Cleanup(server.Close)
	return clientWith(t, Config{
		Base:  server.URL + "/api",
		CA:    pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}),
		Rules: dial.Rules{AllowLoopback: true},
	})
}

func clientWith(t *testing.T, config Config) *Client {
	t.Helper()
	config.Repository = gitprovider.NewRepository("git.example.com", "acme/shop")
	config.Header = http.Header{"Authorization": {"Bearer " + canary}, "Private-Token": {canary}}
	config.Secrets = []string{canary}
	client, err := New(config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func read(ctx context.Context, c *Client, into any) error {
	_, err := c.Do(ctx, Request{Operation: "read it", Method: http.MethodGet, Path: "/thing", Into: into})
	return err
}

func expect(t *testing.T, err error, class gitprovider.Class, contains ...string) {
	t.Helper()
	if err == nil || gitprovider.ClassOf(err) != class {
		t.Fatalf("error %v, want class %s", err, class)
	}
	for _, part := range append(contains, "read it: git.example.com/acme/shop: ") {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("error %q does not contain %q", err, part)
		}
	}
	for _, printed := range []string{err.Error(), fmt.Sprintf("%+v", err), fmt.Sprintf("%#v", err)} {
		if strings.Contains(printed, canary) {
			t.Errorf("the token is given away by %s", printed)
		}
	}
}

func TestARequestIsSentWhole(t *testing.T) {
	c := clientTo(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got := fmt.Sprint(
			r.Method,
			" ",
			r.RequestURI,
			" ",
			r.Header.Get("Authorization"),
			" ",
			r.Header.Get("X-More"),
			" ",
			r.Header.Get("Content-Type"),
			" ",
			string(body),
		)
		want := `POST /api/a%2Fb?q=x+%26+y Bearer ` + canary + ` yes application/json {"k":"v"}`
		if got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
		_, _ = io.WriteString(w, `{"answer": 42, "unknown": null}`)
	})
	var into struct{ Answer int }
	_, err := c.Do(t.Context(), Request{
		Operation: "send it", Method: http.MethodPost, Path: "/a%2Fb", Query: url.Values{"q": {"x & y"}},
		Header: http.Header{"X-More": {"yes"}}, Body: map[string]string{"k": "v"}, Into: &into,
	})
	if err != nil || into.Answer != 42 {
		t.Errorf("read %+v, %v", into, err)
	}
}

func TestClassesOfAnswers(t *testing.T) {
	for name, c := range map[string]struct {
		status   int
		header   map[string]string
		body     string
		class    gitprovider.Class
		contains string
	}{
		"bad credentials":            {401, nil, `{"message":"Bad credentials"}`, gitprovider.Unauthenticated, `check the key "token" of the Secret; it says: Bad credentials`},
		"lacking rights":             {403, nil, `{"message":"Resource not accessible by personal access token"}`, gitprovider.Forbidden, "give it the right"},
		"primary limit":              {403, map[string]string{"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1700000060", "Date": "Tue, 14 Nov 2023 22:13:20 GMT"}, `{}`, gitprovider.RateLimited, "too many requests"},
		"secondary limit":            {403, nil, `{"message":"You have exceeded a secondary rate limit."}`, gitprovider.RateLimited, "too many requests"},
		"limit with a time to wait":  {403, map[string]string{"Retry-After": "30"}, ``, gitprovider.RateLimited, "too many requests"},
		"limit of most":              {429, nil, `Retry later`, gitprovider.RateLimited, "too many requests"},
		"unknown":                    {404, nil, `{"message":"404 Project Not Found"}`, gitprovider.NotFound, "check url"},
		"gone":                       {410, nil, ``, gitprovider.NotFound, "check url"},
		"conflict":                   {409, nil, `{"errors":[{"message":"out-of-date"}]}`, gitprovider.Conflict, "it says: out-of-date"},
		"invalid":                    {422, nil, `{"message":"Validation Failed","errors":[{"field":"head"},{"message":"No commits between main and x"}]}`, gitprovider.Refused, "Validation Failed; No commits between main and x"},
		"object of lists":            {400, nil, `{"message":{"title":["is too long"],"base":["is odd"]}}`, gitprovider.Refused, "it says: is odd; is too long"},
		"another word for message":   {400, nil, `{"error":"target_branch is missing"}`, gitprovider.Refused, "it says: target_branch is missing"},
		"failing":                    {500, nil, `<html>oops</html>`, gitprovider.Unavailable, "fails (status 500)"},
		"a gateway":                  {502, nil, ``, gitprovider.Unavailable, "fails (status 502)"},
		"too slow":                   {408, nil, ``, gitprovider.Unavailable, "fails (status 408)"},
		"a page instead of data":     {203, nil, `<html>sign in</html>`, gitprovider.Malformed, "status 203"},
		"JSON of another shape":      {200, nil, `{"answer": "text"}`, gitprovider.Malformed, `field "answer" has another type`},
		"no JSON":                    {200, nil, `<html>`, gitprovider.Malformed, "not well-formed"},
		"half of the JSON":           {200, nil, `{"answer": 4`, gitprovider.Malformed, "not well-formed"},
		"JSON and something else":    {200, nil, `{"answer": 4} canary-0123456789`, gitprovider.Malformed, "not well-formed"},
		"the token as message":       {400, nil, `{"message":"Bearer canary-0123456789 is odd"}`, gitprovider.Refused, "Bearer <masked> is odd"},
		"a message of several lines": {400, nil, `{"message":"one\ntwo\u001b[31m"}`, gitprovider.Refused, "one two [31m"},
		"a message without end":      {400, nil, `{"message":"` + strings.Repeat("x", 5000) + `"}`, gitprovider.Refused, "xxx..."},
	} {
		t.Run(name, func(t *testing.T) {
			client := clientTo(t, func(w http.ResponseWriter, _ *http.Request) {
				for key, value := range c.header {
					w.Header().Set(key, value)
				}
				w.WriteHeader(c.status)
				_, _ = io.WriteString(w, c.body)
			})
			var into struct {
				Answer int `json:"answer"`
			}
			err := read(t.Context(), client, &into)
			expect(t, err, c.class, c.contains)
			if (failure.KindOf(err) == failure.Terminal) != c.class.Permanent() {
				t.Errorf("the kind is %s", failure.KindOf(err))
			}
			if len(err.Error()) > 1000 {
				t.Errorf("the text has %d characters", len(err.Error()))
			}
		})
	}
}

func TestHowLongToWait(t *testing.T) {
	const now = "Tue, 14 Nov 2023 22:13:20 GMT" // 1700000000
	for name, c := range map[string]struct {
		status int
		header map[string]string
		want   time.Duration
	}{
		"seconds":                       {429, map[string]string{"Retry-After": "30"}, 30 * time.Second},
		"a date":                        {429, map[string]string{"Retry-After": "Tue, 14 Nov 2023 22:15:20 GMT", "Date": now}, 2 * time.Minute},
		"a maintenance":                 {503, map[string]string{"Retry-After": "120"}, 2 * time.Minute},
		"the reset of GitHub":           {403, map[string]string{"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1700000600", "Date": now}, 10 * time.Minute},
		"the reset of GitLab":           {429, map[string]string{"RateLimit-Remaining": "0", "RateLimit-Reset": "1700000045", "Date": now}, 45 * time.Second},
		"seconds before a reset":        {403, map[string]string{"Retry-After": "5", "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1700000600", "Date": now}, 5 * time.Second},
		"nothing said":                  {429, nil, time.Minute},
		"a reset that is not meant":     {429, map[string]string{"X-RateLimit-Remaining": "14", "X-RateLimit-Reset": "1700000600", "Date": now}, time.Minute},
		"nonsense":                      {429, map[string]string{"Retry-After": "soon"}, time.Minute},
		"the past":                      {429, map[string]string{"Retry-After": "-5"}, time.Second},
		"a reset in the past":           {403, map[string]string{"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1600000000", "Date": now}, time.Second},
		"years":                         {429, map[string]string{"Retry-After": "2000000000"}, time.Hour},
		"more than a number holds":      {429, map[string]string{"Retry-After": "99999999999999999999"}, time.Minute},
		"a far date":                    {429, map[string]string{"Retry-After": "Tue, 14 Nov 2523 22:15:20 GMT", "Date": now}, time.Hour},
		"a failure without a wish":      {500, nil, 0},
		"no limit in spite of a header": {404, map[string]string{"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1700000600", "Date": now}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			client := clientTo(t, func(w http.ResponseWriter, _ *http.Request) {
				for key, value := range c.header {
					w.Header().Set(key, value)
				}
				w.WriteHeader(c.status)
			})
			err := read(t.Context(), client, nil)
			if got := gitprovider.RetryAfter(fmt.Errorf("above: %w", err)); got != c.want {
				t.Errorf("wait %s, want %s", got, c.want)
			}
		})
	}
}

func TestAnAnswerIsReadUpToABound(t *testing.T) {
	var sent atomic.Int64
	client := clientTo(t, func(w http.ResponseWriter, _ *http.Request) {
		chunk := strings.Repeat(" ", 1<<20)
		for range 64 {
			n, err := io.WriteString(w, chunk)
			sent.Add(int64(n))
			if err != nil {
				return
			}
		}
	})
	expect(t, read(t.Context(), client, new(any)), gitprovider.Malformed, "larger than 16 MiB")
	if sent.Load() > 40<<20 {
		t.Errorf("%d bytes were taken", sent.Load())
	}
}

func TestRedirectsAreFollowedOnlyByReadsAndOnTheHost(t *testing.T) {
	elsewhere := httptest.NewTLSServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("somebody else was asked, with the header %v", r.Header)
	}))
	defer elsewhere.Close()
	hops := 0
	client := clientTo(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/api/thing":
			http.Redirect(w, r, "/api/moved", http.StatusMovedPermanently)
		case "/api/moved":
			_, _ = io.WriteString(w, `{"answer": 42}`)
		case "/api/away":
			http.Redirect(w, r, elsewhere.URL+"/api?token="+canary, http.StatusTemporaryRedirect)
		case "/api/clear":
			http.Redirect(w, r, "http://"+r.Host+"/api/moved", http.StatusFound)
		case "/api/round":
			hops++
			http.Redirect(w, r, "/api/round", http.StatusFound)
		}
	})
	var into struct{ Answer int }
	if err := read(t.Context(), client, &into); err != nil || into.Answer != 42 {
		t.Errorf("moved on the host: %v, %v", into, err)
	}
	for path, method := range map[string]string{
		"/away":  http.MethodGet,
		"/clear": http.MethodGet,
		"/round": http.MethodGet,
		"/thing": http.MethodPost,
	} {
		_, err := client.Do(t.Context(), Request{Operation: "read it", Method: method, Path: path, Body: "x"})
		expect(t, err, gitprovider.NotFound, "moved", "change url")
	}
	if hops == 0 || hops > 5 {
		t.Errorf("a circle was followed %d times", hops)
	}
}

func TestWhatKeepsARequestFromBeingAnswered(t *testing.T) {
	server := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer server.Close()
	loopback := dial.Rules{AllowLoopback: true}

	expect(t, read(t.Context(), clientWith(t, Config{Base: server.URL, Rules: loopback}), nil), gitprovider.Untrusted, `"caFile"`)
	expect(
		t,
		read(t.Context(), clientWith(t, Config{Base: server.URL}), nil),
		gitprovider.Misconfigured,
		"loopback addresses are not allowed",
	)
	expect(t, read(t.Context(), clientWith(t, Config{
		Base:  "https://127.0.0.1:1",
		Rules: loopback,
	}), nil), gitprovider.Unavailable, "is unreachable")

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := read(ctx, clientWith(t, Config{Base: server.URL, Rules: loopback}), nil)
	expect(t, err, gitprovider.Unavailable)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("the cause of %v is lost", err)
	}

	broken := clientTo(t, func(w http.ResponseWriter, _ *http.Request) {
		connection, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		_, _ = io.WriteString(connection, "Bearer "+canary+"\r\n\r\n")
		_ = connection.Close()
	})
	expect(t, read(t.Context(), broken, nil), gitprovider.Unavailable, "<masked>")
}

func TestACertificateThatIsNoneIsRefused(t *testing.T) {
	_, err := New(Config{CA: []byte("-----BEGIN CERTIFICATE-----\n" + canary)})
	if gitprovider.ClassOf(err) != gitprovider.Misconfigured || strings.Contains(err.Error(), canary) {
		t.Errorf("error %v", err)
	}
}

func TestUnchangedIsNoError(t *testing.T) {
	client := clientTo(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotModified) })
	into := 42
	answer, err := client.Do(t.Context(), Request{Method: http.MethodGet, Into: &into})
	if err != nil || answer.Status != http.StatusNotModified || into != 42 {
		t.Errorf("read %d, %+v, %v", into, answer, err)
	}
}
