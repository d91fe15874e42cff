// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package pipelines_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	pipelines "espalier.dev/api/pipelines/v1alpha1"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/gitserver"
)

// hub is a real Git server with pull requests that are kept in memory and presented as Bitbucket or Azure DevOps do.
type hub struct {
	w          *world
	kind       pipelines.GitProviderType
	server     *gitserver.Server
	repository *gitserver.Repository

	mutex sync.Mutex
	pulls []*hubPull
	// failing are the calls that fail, with their status codes, by name: list, get, create, close, comment, builds.
	failing map[string]int
}

type hubPull struct {
	number            int64
	open, merged      bool
	fork              bool
	head, base        string
	title, body       string
	commit, mergedAs  string
	created, finished time.Time
	// builds are states by name. Only Bitbucket reports them.
	builds map[string]string
}

// longFile is long enough to make descriptions exceed what Azure DevOps shows of them in listings.
var longFile = "prod/" + strings.Repeat("deep-down/", 18) + "app.yaml"

// newHub serves a repository, and creates the Secret with its credentials.
func (w *world) newHub(kind pipelines.GitProviderType) *hub {
	w.Helper()
	h := &hub{w: w, kind: kind, server: gitserver.Start(w.T), failing: map[string]int{}}
	name, api := "scm/ACME/shop", "/rest/api/1.0/projects/ACME/repos/shop/pull-requests"
	if kind == pipelines.GitProviderAzureDevOps {
		name, api = "acme/web/_git/shop", "/acme/web/_apis/git/repositories/shop/pullrequests"
	}
	h.repository = h.server.Create(
		w.T,
		name,
		map[string]string{longFile: fmt.Sprintf("version: 1.0.0 # {\"$promotion\": \"%s:p:prod\"}\n", w.Namespace)},
	)
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+api, h.named("list", h.list))
	mux.HandleFunc("POST "+api, h.named("create", h.create))
	mux.HandleFunc("GET "+api+"/{number}", h.named("get", h.one))
	mux.HandleFunc("PATCH "+api+"/{number}", h.named("close", h.end))
	mux.HandleFunc("POST "+api+"/{number}/decline", h.named("close", h.end))
	mux.HandleFunc("GET "+api+"/{number}/activities", func(rw http.ResponseWriter, _ *http.Request) {
		respond(rw, http.StatusOK, fields{"values": []fields{{"action": "DECLINED", "user": fields{"name": "ann"}}}, "isLastPage": true})
	})
	for _, comments := range []string{"/comments", "/threads"} {
		mux.HandleFunc(
			"POST "+api+"/{number}"+comments,
			h.named("comment", func(rw http.ResponseWriter, _ *http.Request) { respond(rw, http.StatusOK, fields{"id": 1}) }),
		)
	}
	const builds = "/rest/build-status/1.0/commits/"
	mux.HandleFunc("GET "+builds+"{commit}", h.named("builds", h.builds))
	h.server.Around(func(git http.Handler) http.Handler {
		return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			if strings.HasPrefix(r.URL.Path, api) || strings.HasPrefix(r.URL.Path, builds) {
				mux.ServeHTTP(rw, r)
				return
			}
			git.ServeHTTP(rw, r)
		})
	})
	w.Create(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "git"}, StringData: map[string]string{
		"username": gitserver.Username, "password": gitserver.Password, "token": "any", "caFile": string(h.server.CA()),
	}})
	return h
}

type fields map[string]any

func respond(w http.ResponseWriter, code int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(body)
}

// named makes a call fail if the test requested that.
func (h *hub) named(name string, do http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		h.mutex.Lock()
		defer h.mutex.Unlock()
		if status := h.failing[name]; status != 0 {
			respond(w, status, fields{"message": "out of order"})
			return
		}
		do(w, r)
	}
}

// fail makes a call return a status code, until it is set to zero.
func (h *hub) fail(name string, status int) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	h.failing[name] = status
}

// show presents a pull request in the server's format. Azure DevOps truncates descriptions in listings.
func (h *hub) show(p *hubPull, listed bool) fields {
	state := 0
	switch {
	case p.merged:
		state = 2
	case !p.open:
		state = 1
	}
	if h.kind == pipelines.GitProviderAzureDevOps {
		body := p.body
		if listed {
			body = body[:min(len(body), 400)]
		}
		shown := fields{
			"pullRequestId": p.number, "status": []string{"active", "abandoned", "completed"}[state], "title": p.title, "description": body,
			"sourceRefName": "refs/heads/" + p.head, "targetRefName": "refs/heads/" + p.base, "creationDate": p.created,
			"lastMergeSourceCommit": fields{"commitId": p.commit}, "lastMergeCommit": fields{"commitId": p.mergedAs},
		}
		if p.fork {
			shown["forkSource"] = fields{}
		}
		if !p.open {
			shown["closedDate"], shown["closedBy"] = p.finished, fields{"uniqueName": "ann"}
		}
		return shown
	}
	source := 1
	if p.fork {
		source = 2
	}
	shown := fields{
		"id": p.number, "version": 1, "state": []string{"OPEN", "DECLINED", "MERGED"}[state], "title": p.title, "description": p.body,
		"createdDate": p.created.UnixMilli(), "updatedDate": p.created.UnixMilli(),
		"fromRef": fields{"id": "refs/heads/" + p.head, "latestCommit": p.commit, "repository": fields{"id": source}},
		"toRef":   fields{"id": "refs/heads/" + p.base, "repository": fields{"id": 1}},
		"links":   fields{"self": []fields{{"href": fmt.Sprintf("https://git.example.com/pull-requests/%d", p.number)}}},
	}
	if !p.open {
		shown["closedDate"] = p.finished.UnixMilli()
		shown["properties"] = fields{"mergeCommit": fields{"id": p.mergedAs}}
	}
	return shown
}

func (h *hub) list(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	head := strings.TrimPrefix(query.Get("at")+query.Get("searchCriteria.sourceRefName"), "refs/heads/")
	onlyOpen := query.Get("state")+query.Get("searchCriteria.status") == "OPEN" || query.Get("searchCriteria.status") == "active"
	shown := []fields{}
	for _, p := range slices.Backward(h.pulls) {
		if (p.open || !onlyOpen) && (head == "" || p.head == head) {
			shown = append(shown, h.show(p, true))
		}
	}
	respond(w, http.StatusOK, fields{"values": shown, "value": shown, "isLastPage": true})
}

func (h *hub) create(w http.ResponseWriter, r *http.Request) {
	var wish struct {
		Title, Description, SourceRefName, TargetRefName string
		FromRef, ToRef                                   struct{ ID string }
	}
	if err := json.NewDecoder(r.Body).Decode(&wish); err != nil {
		h.w.Errorf("create: %v", err)
	}
	branch := func(a, b string) string { return strings.TrimPrefix(a+b, "refs/heads/") }
	p := h.add(hubPull{
		head:  branch(wish.SourceRefName, wish.FromRef.ID),
		base:  branch(wish.TargetRefName, wish.ToRef.ID),
		title: wish.Title,
		body:  wish.Description,
	})
	respond(w, http.StatusCreated, h.show(p, false))
}

func (h *hub) add(p hubPull) *hubPull {
	p.number, p.open, p.created = int64(len(h.pulls)+1), true, time.Now()
	if p.commit = h.repository.Tip(p.head); p.commit == "" {
		p.commit = strings.Repeat("f", 40)
	}
	h.pulls = append(h.pulls, &p)
	return &p
}

func (h *hub) one(w http.ResponseWriter, r *http.Request) {
	if p := h.find(w, r); p != nil {
		respond(w, http.StatusOK, h.show(p, false))
	}
}

func (h *hub) end(w http.ResponseWriter, r *http.Request) {
	if p := h.find(w, r); p != nil {
		p.open, p.finished = false, time.Now()
		respond(w, http.StatusOK, h.show(p, false))
	}
}

func (h *hub) builds(w http.ResponseWriter, r *http.Request) {
	shown := []fields{}
	for _, p := range h.pulls {
		for name, state := range p.builds {
			if p.commit == r.PathValue("commit") {
				shown = append(shown, fields{"key": name, "name": name, "state": state, "url": "https://ci.example.com"})
			}
		}
	}
	respond(w, http.StatusOK, fields{"values": shown, "isLastPage": true})
}

func (h *hub) find(w http.ResponseWriter, r *http.Request) *hubPull {
	number, err := strconv.Atoi(r.PathValue("number"))
	if err != nil || number < 1 || number > len(h.pulls) {
		respond(w, http.StatusNotFound, fields{"message": "not there"})
		return nil
	}
	return h.pulls[number-1]
}

// The methods below do what people do.

func (h *hub) change(number int64, change func(*hubPull)) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	change(h.pulls[number-1])
}

func (h *hub) close(number int64) {
	h.change(number, func(p *hubPull) { p.open, p.finished = false, time.Now() })
}

func (h *hub) reopen(number int64) { h.change(number, func(p *hubPull) { p.open = true }) }

// build sets the state of a build of the head commit.
func (h *hub) build(number int64, name, state string) {
	h.change(number, func(p *hubPull) {
		if p.builds == nil {
			p.builds = map[string]string{}
		}
		p.builds[name] = state
	})
}

func (h *hub) merge(number int64) {
	h.change(number, func(p *hubPull) {
		p.mergedAs = h.repository.Merge(p.head, p.base)
		p.open, p.merged, p.finished = false, true, time.Now()
	})
}

// states returns the states of all pull requests, the oldest first.
func (h *hub) states() []string {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	var all []string
	for _, p := range h.pulls {
		state := "open"
		switch {
		case p.merged:
			state = "merged"
		case !p.open:
			state = "closed"
		}
		all = append(all, state)
	}
	return all
}

// expect compares the states of all pull requests.
func (h *hub) expect(t *testing.T, want ...string) {
	t.Helper()
	if got := h.states(); !slices.Equal(got, want) {
		t.Errorf("the pull requests are %v, want %v", got, want)
	}
}

// pipeline is named p and promotes from dev, which runs 1.1.0, to prod, which runs 1.0.0.
func (h *hub) pipeline() (builder *testkit.PipelineBuilder, at []string) {
	w := h.w
	at = w.places(2)
	w.deploy(w.Client(), at[0], "1.1.0", true)
	w.deploy(w.Client(), at[1], "1.0.0", true)
	return testkit.Pipeline(w.Namespace, "p").App("helm.toolkit.fluxcd.io/v2", "HelmRelease", "app").
		Environment("dev", at[0]).Environment("prod", at[1]).PullRequest(pipelines.PullRequestStrategy{
		Type: h.kind, URL: h.repository.URL, BaseBranch: gitserver.Main, SecretRef: pipelines.LocalObjectReference{Name: "git"},
	}), at
}
