// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package web

import (
	"net"
	"net/http"
	"slices"
	"strings"
)

// headers deny the browser everything that the pages do not need.
var headers = map[string]string{
	"Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
		"base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
	"X-Content-Type-Options":       "nosniff",
	"X-Frame-Options":              "DENY",
	"Referrer-Policy":              "no-referrer",
	"Cross-Origin-Opener-Policy":   "same-origin",
	"Cross-Origin-Resource-Policy": "same-origin",
	"Permissions-Policy":           "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
	"Cache-Control":                "no-store",
}

func withHeaders(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for name, value := range headers {
			w.Header().Set(name, value)
		}
		next.ServeHTTP(w, r)
	})
}

// onlyOurHosts denies requests for other host names, because another site could let its name resolve to this server.
func (s *Server) onlyOurHosts(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.isOurs(r.Host) {
			next.ServeHTTP(w, r)
			return
		}
		message := "These pages are for this machine only: open them as localhost."
		if s.options.Mode == Cluster {
			message = "These pages are not served under this name. Add it with --host."
		}
		writeProblem(w, &problem{Status: http.StatusForbidden, Message: message})
	})
}

func (s *Server) isOurs(host string) bool {
	if s.options.Mode == Local {
		return IsLoopback(host)
	}
	name := strings.ToLower(hostName(host))
	return slices.ContainsFunc(s.options.Hosts, func(ours string) bool {
		return strings.EqualFold(ours, host) || strings.EqualFold(ours, name)
	})
}

// onlyOwnPages denies requests that a browser sends for pages of other sites, even those that change nothing: cookies of one port of a
// machine are sent to all its ports.
func onlyOwnPages(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if from := r.Header.Get("Sec-Fetch-Site"); from != "" && from != "same-origin" && from != "none" {
			writeProblem(w, &problem{
				Status: http.StatusForbidden, Message: "This address is for the pages of the web UI only; another site requested it.",
			})
			return
		}
		next.ServeHTTP(w, r)
	})
}

// IsLoopback reports whether a host, with or without a port, means this machine and cannot mean another.
func IsLoopback(host string) bool {
	host = hostName(host)
	if ip := net.ParseIP(host); ip != nil {
		return ip.IsLoopback()
	}
	return strings.EqualFold(host, "localhost")
}

func hostName(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
}
