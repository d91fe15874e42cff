// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

//go:build externals

package promotions_test

import (
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"testing"

	"espalier.dev/internal/testkit/externals"
)

func init() {
	giteaHubs = func(t *testing.T, namespace string, f *front) hub { return newGiteaHub(t, namespace, f) }
}

// A sample of the faults of the Git server is repeated with a real Gitea.
func TestRealGitea(t *testing.T) {
	t.Parallel()
	for name, plans := range map[string][]string{
		"merge":     {"provider:create:1:lost", "provider:push:1:after"},
		"supersede": {"provider:close:1:after", "provider:create:2:before"},
		"remove":    {"provider:close:1:lost"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var all []disturbance
			for i, plan := range plans {
				d, err := parseDisturbance(plan)
				if err != nil {
					t.Fatal(err)
				}
				if d.gitea = true; *full || i == 0 {
					all = append(all, d)
				}
			}
			sweep(t, workloadNamed(t, name), all)
		})
	}
}

// giteaHub is a repository of a real Gitea, behind a front.
type giteaHub struct {
	gitea      *externals.GiteaServer
	repository *externals.Repository
	front      *httptest.Server
}

func newGiteaHub(t *testing.T, namespace string, f *front) *giteaHub {
	t.Helper()
	h := &giteaHub{gitea: externals.Gitea(t)}
	h.repository = h.gitea.Repository(t, map[string]string{markedFile: content(namespace, "1.0.0")})
	behind, err := url.Parse(h.gitea.URL)
	if err != nil {
		t.Fatal(err)
	}
	f.inner = &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(behind) }, Transport: h.gitea.Client().Transport}
	h.front = httptest.NewTLSServer(http.Handler(f))
	t.Cleanup(h.front.Close)
	return h
}

func (h *giteaHub) url() string {
	return h.front.URL + "/" + h.repository.Owner + "/" + h.repository.Name + ".git"
}

func (h *giteaHub) secret() map[string]string {
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: h.front.Certificate().Raw})
	return map[string]string{"username": h.gitea.User, "password": h.gitea.Token, "token": h.gitea.Token, "caFile": string(authority)}
}

func (h *giteaHub) merge(t *testing.T, number int64) { t.Helper(); h.repository.Merge(t, int(number)) }

func (h *giteaHub) closeByHand(t *testing.T, number int64) {
	t.Helper()
	h.repository.Close(t, int(number))
}

func (h *giteaHub) reopen(t *testing.T, number int64) {
	t.Helper()
	path := fmt.Sprintf("/repos/%s/%s/pulls/%d", h.repository.Owner, h.repository.Name, number)
	if err := h.gitea.Call(t.Context(), http.MethodPatch, path, map[string]string{"state": "open"}, nil); err != nil {
		t.Fatal(err)
	}
}

func (h *giteaHub) file(t *testing.T) string {
	t.Helper()
	return h.repository.File(t, "main", markedFile)
}

func (h *giteaHub) branches(t *testing.T) []string { t.Helper(); return h.repository.Branches(t) }
