// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package web

import (
	"fmt"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strings"
)

// pages serves the files of the web UI. Every path without a file returns the single page, which evaluates its own address.
type pages struct{ files fs.FS }

const (
	startPage  = "index.html"
	assets     = "assets/"
	forEver    = "public, max-age=31536000, immutable"
	compressed = ".gz"
)

func (p *pages) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "Pages can only be read.", http.StatusMethodNotAllowed)
		return
	}
	name := strings.TrimPrefix(path.Clean(r.URL.Path), "/")
	if strings.HasPrefix(name, assets) {
		p.asset(w, r, name)
		return
	}
	if name == "" || !p.has(name) || strings.HasSuffix(name, compressed) {
		name = startPage
	}
	p.send(w, r, name)
}

// asset serves a file whose name depends on its content. A missing one is not answered with the page: the request comes from an outdated
// page.
func (p *pages) asset(w http.ResponseWriter, r *http.Request, name string) {
	if !p.has(name) || strings.HasSuffix(name, compressed) {
		http.Error(w, "This file does not exist. Reload the page: the web UI may have been updated.", http.StatusNotFound)
		return
	}
	w.Header().Set("Cache-Control", forEver)
	p.send(w, r, name)
}

func (p *pages) has(name string) bool {
	info, err := fs.Stat(p.files, name)
	return err == nil && info.Mode().IsRegular()
}

func (p *pages) send(w http.ResponseWriter, r *http.Request, name string) {
	file := name
	if p.has(name + compressed) {
		w.Header().Add("Vary", "Accept-Encoding")
		if accepts(r, "gzip") {
			w.Header().Set("Content-Encoding", "gzip")
			file += compressed
		}
	}
	content, err := fs.ReadFile(p.files, file)
	if err != nil {
		w.Header().Del("Content-Encoding")
		http.Error(w, "The pages are missing from this program: rebuild it after \"make ui\".", http.StatusInternalServerError)
		return
	}
	kind := mime.TypeByExtension(path.Ext(name))
	if kind == "" {
		kind = "application/octet-stream"
	}
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Content-Length", fmt.Sprint(len(content)))
	_, _ = w.Write(content) // The client has disconnected.
}

func accepts(r *http.Request, coding string) bool {
	for part := range strings.SplitSeq(r.Header.Get("Accept-Encoding"), ",") {
		name, quality, _ := strings.Cut(strings.TrimSpace(part), ";")
		if strings.EqualFold(name, coding) && strings.TrimSpace(quality) != "q=0" {
			return true
		}
	}
	return false
}
