// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package promotions_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"espalier.dev/internal/testkit/gitserver"
)

// memoryHub is Git's own server with pull requests in memory, and the API of Gitea.
type memoryHub struct {
	server     *gitserver.Server
	repository *gitserver.Repository
	directory  string

	mutex sync.Mutex
	pulls []*pull
}

// pull is a pull request as in Gitea's API.
type pull struct {
	Number      int64      `json:"number"`
	URL         string     `json:"html_url"`
	State       string     `json:"state"`
	Title       string     `json:"title"`
	Body        string     `json:"body"`
	Merged      bool       `json:"merged"`
	MergedAt    *time.Time `json:"merged_at"`
	MergeCommit string     `json:"merge_commit_sha,omitempty"`
	MergedBy    *person    `json:"merged_by"`
	Created     time.Time  `json:"created_at"`
	Updated     time.Time  `json:"updated_at"`
	Closed      *time.Time `json:"closed_at"`
	Head        end        `json:"head"`
	Base        end        `json:"base"`
}

type person struct {
	Login string `json:"login"`
}

type end struct {
	Label  string `json:"label"`
	SHA    string `json:"sha"`
	RepoID int    `json:"repo_id"`
}

// newMemoryHub serves a repository behind a front.
func newMemoryHub(t *testing.T, namespace string, f *front) *memoryHub {
	t.Helper()
	h := &memoryHub{server: gitserver.Start(t)}
	h.repository = h.server.Create(t, repositoryName, map[string]string{markedFile: content(namespace, "1.0.0")})
	h.directory = h.repository.Git("rev-parse", "--absolute-git-dir")
	api := h.api()
	var once sync.Once // called at each request
	h.server.Around(func(git http.Handler) http.Handler {
		once.Do(func() {
			f.inner = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if strings.HasPrefix(r.URL.Path, "/api/") {
					api.ServeHTTP(w, r)
					return
				}
				git.ServeHTTP(w, r)
			})
		})
		return f
	})
	return h
}

func (h *memoryHub) url() string { return h.repository.URL }

func (h *memoryHub) secret() map[string]string {
	return map[string]string{
		"username": gitserver.Username,
		"password": gitserver.Password,
		"token":    gitserver.Password,
		"caFile":   string(h.server.CA()),
	}
}

func (h *memoryHub) api() http.Handler {
	const repo = "/api/v1/repos/" + repositoryName
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+repo, func(w http.ResponseWriter, _ *http.Request) { say(w, http.StatusOK, map[string]int{"id": 1}) })
	mux.HandleFunc("GET "+repo+"/pulls", h.list)
	mux.HandleFunc("POST "+repo+"/pulls", h.create)
	mux.HandleFunc("GET "+repo+"/pulls/{base}/{head}", h.find)
	mux.HandleFunc("GET "+repo+"/pulls/{number}", h.one(func(w http.ResponseWriter, p *pull) { say(w, http.StatusOK, p) }))
	mux.HandleFunc("PATCH "+repo+"/pulls/{number}", h.one(h.close))
	mux.HandleFunc("GET "+repo+"/commits/{commit}/statuses", func(w http.ResponseWriter, _ *http.Request) { say(w, http.StatusOK, []string{}) })
	mux.HandleFunc("POST "+repo+"/issues/{number}/comments", h.one(func(w http.ResponseWriter, p *pull) {
		p.Updated = now()
		say(w, http.StatusCreated, map[string]int{"id": 1})
	}))
	mux.HandleFunc("GET "+repo+"/issues/{number}/timeline", h.one(func(w http.ResponseWriter, _ *pull) {
		say(w, http.StatusOK, []map[string]any{{"type": "close", "user": person{"promoter"}}})
	}))
	return mux
}

func say(w http.ResponseWriter, code int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(body)
}

func missing(w http.ResponseWriter) {
	say(w, http.StatusNotFound, map[string]string{"message": "not there"})
}

func now() time.Time { return time.Now().UTC().Truncate(time.Second) }

// tip returns the commit of a branch; empty if there is no such branch.
func (h *memoryHub) tip(branch string) string {
	commit, err := os.ReadFile(filepath.Join(h.directory, "refs", "heads", filepath.FromSlash(branch)))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(commit))
}

// shown updates the head of a pull request.
func (h *memoryHub) shown(p *pull) *pull {
	if tip := h.tip(p.Head.Label); tip != "" && p.State == "open" {
		p.Head.SHA = tip
	}
	return p
}

func (h *memoryHub) one(do func(http.ResponseWriter, *pull)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		h.mutex.Lock()
		defer h.mutex.Unlock()
		number, err := strconv.Atoi(r.PathValue("number"))
		if err != nil || number < 1 || number > len(h.pulls) {
			missing(w)
			return
		}
		do(w, h.shown(h.pulls[number-1]))
	}
}

func (h *memoryHub) list(w http.ResponseWriter, r *http.Request) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	found := []*pull{}
	for _, p := range h.pulls {
		if r.URL.Query().Get("state") != "open" || p.State == "open" {
			found = append(found, h.shown(p))
		}
	}
	slices.SortStableFunc(found, func(a, b *pull) int { return b.Updated.Compare(a.Updated) })
	say(w, http.StatusOK, found)
}

func (h *memoryHub) find(w http.ResponseWriter, r *http.Request) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	for _, p := range h.pulls {
		if p.Base.Label == r.PathValue("base") && p.Head.Label == r.PathValue("head") {
			say(w, http.StatusOK, h.shown(p))
			return
		}
	}
	missing(w)
}

func (h *memoryHub) create(w http.ResponseWriter, r *http.Request) {
	var wish struct{ Title, Head, Base, Body string }
	if err := json.NewDecoder(r.Body).Decode(&wish); err != nil {
		say(w, http.StatusUnprocessableEntity, map[string]string{"message": err.Error()})
		return
	}
	h.mutex.Lock()
	defer h.mutex.Unlock()
	if h.tip(wish.Head) == "" {
		missing(w)
		return
	}
	for _, p := range h.pulls {
		if p.State == "open" && p.Head.Label == wish.Head && p.Base.Label == wish.Base {
			say(w, http.StatusConflict, map[string]string{"message": "pull request already exists for these targets"})
			return
		}
	}
	number := int64(len(h.pulls) + 1)
	p := &pull{
		Number:  number,
		URL:     fmt.Sprintf("%s/%s/pulls/%d", h.server.URL, repositoryName, number),
		State:   "open",
		Title:   wish.Title,
		Body:    wish.Body,
		Created: now(),
		Updated: now(),
		Head:    end{Label: wish.Head, RepoID: 1},
		Base:    end{Label: wish.Base, RepoID: 1},
	}
	h.pulls = append(h.pulls, p)
	say(w, http.StatusCreated, h.shown(p))
}

func (h *memoryHub) close(w http.ResponseWriter, p *pull) {
	if p.Merged {
		say(w, http.StatusPreconditionFailed, map[string]string{"message": "it is merged"})
		return
	}
	at := now()
	p.State, p.Closed, p.Updated = "closed", &at, at
	say(w, http.StatusCreated, p)
}

func (h *memoryHub) merge(t *testing.T, number int64) {
	t.Helper()
	h.mutex.Lock()
	defer h.mutex.Unlock()
	p, at := h.shown(h.pulls[number-1]), now()
	if p.State != "open" {
		t.Fatalf("pull request %d is %s: it cannot be merged", number, p.State)
	}
	p.MergeCommit = h.repository.Merge(p.Head.Label, p.Base.Label)
	p.State, p.Merged, p.MergedAt, p.Closed, p.Updated, p.MergedBy = "closed", true, &at, &at, at, &person{"ann"}
}

func (h *memoryHub) closeByHand(t *testing.T, number int64) {
	t.Helper()
	h.mutex.Lock()
	defer h.mutex.Unlock()
	p, at := h.pulls[number-1], now()
	p.State, p.Closed, p.Updated = "closed", &at, at
}

func (h *memoryHub) reopen(t *testing.T, number int64) {
	t.Helper()
	h.mutex.Lock()
	defer h.mutex.Unlock()
	p := h.pulls[number-1]
	p.State, p.Closed, p.Updated = "open", nil, now()
}

func (h *memoryHub) file(t *testing.T) string {
	t.Helper()
	return h.repository.Read(gitserver.Main, markedFile)
}

func (h *memoryHub) branches(t *testing.T) []string { t.Helper(); return h.repository.Branches() }
