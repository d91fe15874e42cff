// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package dashboard

import (
	"bytes"
	"embed"
	"html/template"
	"net/http"
	"time"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

//go:embed page.html.tmpl style.css
var files embed.FS

var page = template.Must(template.ParseFS(files, "page.html.tmpl"))

// Options configure the pages.
type Options struct {
	// Reader lists what is shown.
	Reader client.Reader
	// Now is the clock. Nil means the real one.
	Now func() time.Time
	Log logr.Logger
}

// NewHandler serves the pages.
func NewHandler(opts Options) http.Handler {
	if opts.Now == nil {
		opts.Now = time.Now
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", opts.serveStart)
	mux.HandleFunc("GET /style.css", serveStyle)
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = w.Write([]byte("ok\n"))
	})
	return withHeaders(onlyLoopback(mux))
}

func (o Options) serveStart(w http.ResponseWriter, r *http.Request) {
	status := http.StatusOK
	var view struct {
		Sections []section
		Problem  string
	}
	var err error
	if view.Sections, err = readSections(r.Context(), o.Reader, o.Now()); err != nil {
		o.Log.Error(err, "The start page cannot be shown")
		status, view.Problem = http.StatusServiceUnavailable, err.Error()
	}
	var body bytes.Buffer
	if err := page.Execute(&body, view); err != nil {
		o.Log.Error(err, "The start page cannot be rendered")
		http.Error(w, "The page cannot be rendered; see the log.", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(body.Bytes()) // The visitor has gone.
}

func serveStyle(w http.ResponseWriter, r *http.Request) {
	http.ServeFileFS(w, r, files, "style.css")
}
