// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// Request is the signature of one request to the API server.
type Request struct {
	Verb        string // get, list, watch, create, update, patch, delete, deletecollection; the method, in lower case, outside the API
	Group       string
	Resource    string // plural; empty for requests that concern no resource, such as discovery
	Subresource string
	Namespace   string
	Name        string
	Path        string   // of the URL
	Fields      []string // fields in the body of a write: "spec" in an update, "status.phase" in a patch

	DryRun      bool // it stores nothing
	StreamsList bool // a watch that starts with events that stand for a list
}

// IsWrite reports whether the request stores something.
func (r Request) IsWrite() bool {
	writes := []string{"create", "update", "patch", "delete", "deletecollection"}
	return r.Resource != "" && !r.DryRun && slices.Contains(writes, r.Verb) && !strings.HasSuffix(r.Resource, "reviews")
}

// IsNumbered reports whether the request is a write that plans count; see the package's vocabulary.
func (r Request) IsNumbered() bool {
	return r.IsWrite() && r.Resource != "events" && r.Resource != "leases"
}

// GroupResource returns the resource with its group, if it has one: "installations.landscaper.gardener.cloud".
func (r Request) GroupResource() string {
	if r.Group == "" {
		return r.Resource
	}
	return r.Resource + "." + r.Group
}

// Signature identifies the kind of request, but not the object.
func (r Request) Signature() string {
	if r.Resource == "" {
		return r.Verb + " " + r.Path
	}
	text := r.Verb + " " + r.GroupResource()
	if r.Subresource != "" {
		text += "/" + r.Subresource
	}
	if len(r.Fields) > 0 {
		text += " [" + strings.Join(r.Fields, " ") + "]"
	}
	return text
}

func (r Request) String() string {
	if object := strings.Trim(r.Namespace+"/"+r.Name, "/"); object != "" {
		return fmt.Sprintf("%s %s", r.Signature(), object)
	}
	return r.Signature()
}

// describe returns a request's signature. It replaces the body, which it must read, by an equal one.
func describe(httpRequest *http.Request) (Request, error) {
	request := parsePath(httpRequest.URL.Path)
	query := httpRequest.URL.Query()
	request.Verb = verbOf(httpRequest.Method, request, query)
	request.DryRun = query.Has("dryRun")
	request.StreamsList = request.Verb == "watch" && query.Get("sendInitialEvents") == "true"
	if !request.IsWrite() || httpRequest.Body == nil {
		return request, nil
	}
	body, err := io.ReadAll(httpRequest.Body)
	if err != nil {
		return request, fmt.Errorf("read the body of %s: %w", request, err)
	}
	_ = httpRequest.Body.Close()
	httpRequest.Body = io.NopCloser(bytes.NewReader(body))
	request.Fields = fieldsOf(request.Verb, httpRequest.Header.Get("Content-Type"), body)
	if request.Verb == "create" && request.Name == "" {
		request.Name = nameIn(body)
	}
	return request, nil
}

// parsePath follows the layout of the API: /api/V or /apis/G/V, then [namespaces/N/]RESOURCE[/NAME[/SUBRESOURCE]].
func parsePath(path string) Request {
	request := Request{Path: path}
	parts := strings.Split(strings.Trim(path, "/"), "/")
	switch {
	case parts[0] == "api" && len(parts) > 2:
		parts = parts[2:]
	case parts[0] == "apis" && len(parts) > 3:
		request.Group, parts = parts[1], parts[3:]
	default:
		return request
	}
	subresourcesOfNamespaces := []string{"status", "finalize"}
	if parts[0] == "namespaces" && len(parts) > 2 && !slices.Contains(subresourcesOfNamespaces, parts[2]) {
		request.Namespace, parts = parts[1], parts[2:]
	}
	request.Resource = parts[0]
	if len(parts) > 1 {
		request.Name = parts[1]
	}
	if len(parts) > 2 {
		request.Subresource = strings.Join(parts[2:], "/")
	}
	return request
}

func verbOf(method string, request Request, query url.Values) string {
	if request.Resource == "" {
		return strings.ToLower(method)
	}
	switch method {
	case http.MethodGet, http.MethodHead:
		return readVerb(request, query)
	case http.MethodPost:
		return "create"
	case http.MethodPut:
		return "update"
	case http.MethodDelete:
		if request.Name == "" {
			return "deletecollection"
		}
		return "delete"
	default:
		return strings.ToLower(method)
	}
}

func readVerb(request Request, query url.Values) string {
	if watch := query.Get("watch"); watch == "true" || watch == "1" {
		return "watch"
	}
	if request.Name == "" {
		return "list"
	}
	return "get"
}
