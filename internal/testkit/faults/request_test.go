// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

func TestRequestsAreKnownByTheirSignature(t *testing.T) {
	const installations = "/apis/landscaper.gardener.cloud/v1alpha1/namespaces/ns/installations"
	cases := map[string]struct {
		method, url, contentType, body string
		want                           string
		write, numbered                bool
	}{
		"get":             {method: "GET", url: installations + "/a", want: "get installations.landscaper.gardener.cloud ns/a"},
		"list":            {method: "GET", url: installations + "?limit=5", want: "list installations.landscaper.gardener.cloud ns"},
		"list everywhere": {method: "GET", url: "/api/v1/secrets", want: "list secrets"},
		"watch":           {method: "GET", url: installations + "?watch=true", want: "watch installations.landscaper.gardener.cloud ns"},
		"watch by number": {method: "GET", url: "/api/v1/pods?watch=1", want: "watch pods"},
		"get namespace":   {method: "GET", url: "/api/v1/namespaces/ns", want: "get namespaces ns"},
		"list namespaces": {method: "GET", url: "/api/v1/namespaces", want: "list namespaces"},
		"discovery":       {method: "GET", url: "/apis", want: "get /apis"},
		"group discovery": {method: "GET", url: "/apis/apps/v1", want: "get /apis/apps/v1"},
		"core discovery":  {method: "GET", url: "/api/v1", want: "get /api/v1"},
		"version":         {method: "GET", url: "/version", want: "get /version"},
		"finalize": {
			method:   "PUT",
			url:      "/api/v1/namespaces/ns/finalize",
			body:     `{"spec":{}}`,
			want:     "update namespaces/finalize [spec] ns",
			write:    true,
			numbered: true,
		},
		"delete collection": {
			method:   "DELETE",
			url:      installations,
			want:     "deletecollection installations.landscaper.gardener.cloud ns",
			write:    true,
			numbered: true,
		},
		"create": {
			method:   "POST",
			url:      "/api/v1/namespaces/ns/configmaps",
			body:     `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"x":"y"}}`,
			want:     "create configmaps [data] ns/a",
			write:    true,
			numbered: true,
		},
		"dry run": {method: "POST", url: "/api/v1/namespaces/ns/configmaps?dryRun=All", body: `{"data":{}}`, want: "create configmaps ns"},
		"update of the status": {
			method:   "PUT",
			url:      installations + "/a/status",
			body:     `{"kind":"Installation","metadata":{"name":"a"},"spec":{},"status":{"phase":"Init"}}`,
			want:     "update installations.landscaper.gardener.cloud/status [spec status] ns/a",
			write:    true,
			numbered: true,
		},
		"merge patch": {
			method: "PATCH", url: installations + "/a/status", contentType: "application/merge-patch+json",
			body: `{"metadata":{"resourceVersion":"5"},"status":{"phase":"Init","jobID":"x"}}`,
			want: "patch installations.landscaper.gardener.cloud/status [status.jobID status.phase] ns/a", write: true, numbered: true,
		},
		"json patch": {
			method: "PATCH", url: installations + "/a", contentType: "application/json-patch+json",
			body: `[{"op":"add","path":"/metadata/finalizers/-","value":"f"},{"op":"remove","path":"/metadata/finalizers/0"}]`,
			want: "patch installations.landscaper.gardener.cloud [metadata.finalizers] ns/a", write: true, numbered: true,
		},
		"apply": {
			method: "PATCH", url: "/api/v1/namespaces/ns/configmaps/a", contentType: "application/apply-patch+yaml",
			body: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, labels: {x: y}}\ndata: {k: v}\n",
			want: "patch configmaps [data.k metadata.labels] ns/a", write: true, numbered: true,
		},
		"delete with a precondition": {
			method: "DELETE", url: installations + "/a", body: `{"kind":"DeleteOptions","preconditions":{"uid":"u"}}`,
			want: "delete installations.landscaper.gardener.cloud [preconditions.uid] ns/a", write: true, numbered: true,
		},
		"event": {
			method: "POST", url: "/apis/events.k8s.io/v1/namespaces/ns/events", body: `{"note":"x"}`,
			want: "create events.events.k8s.io [note] ns", write: true,
		},
		"lease": {
			method: "PUT", url: "/apis/coordination.k8s.io/v1/namespaces/ns/leases/l", body: `{"spec":{}}`,
			want: "update leases.coordination.k8s.io [spec] ns/l", write: true,
		},
		"review": {
			method: "POST", url: "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", body: `{"spec":{}}`,
			want: "create selfsubjectaccessreviews.authorization.k8s.io",
		},
		"a body that is no object": {
			method:   "POST",
			url:      "/api/v1/namespaces/ns/configmaps",
			body:     "\x00\x01",
			want:     "create configmaps ns",
			write:    true,
			numbered: true,
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			httpRequest, err := http.NewRequest(c.method, "https://127.0.0.1"+c.url, strings.NewReader(c.body))
			if err != nil {
				t.Fatal(err)
			}
			httpRequest.Header.Set("Content-Type", c.contentType)
			request, err := describe(httpRequest)
			if err != nil {
				t.Fatal(err)
			}
			if request.String() != c.want {
				t.Errorf("is %q, want %q", request, c.want)
			}
			if request.IsWrite() != c.write || request.IsNumbered() != c.numbered {
				t.Errorf("write %v, numbered %v; want %v, %v", request.IsWrite(), request.IsNumbered(), c.write, c.numbered)
			}
			if body, err := io.ReadAll(httpRequest.Body); err != nil || string(body) != c.body {
				t.Errorf("left the body %q (%v), want %q", body, err, c.body)
			}
		})
	}
}

func TestPatternsSelectRequests(t *testing.T) {
	patch := Request{
		Verb:        "patch",
		Group:       "landscaper.gardener.cloud",
		Resource:    "installations",
		Subresource: "status",
		Namespace:   "ns",
		Name:        "a",
	}
	create := Request{Verb: "create", Resource: "configmaps", Namespace: "ns", Name: "b"}
	list := Request{Verb: "list", Resource: "configmaps"}
	event := Request{Verb: "create", Resource: "events"}
	discovery := Request{Verb: "get", Path: "/apis"}
	cases := map[string][]Request{
		"write":                        {patch, create},
		"request":                      {patch, create, list, event, discovery},
		"patch/installations/status":   {patch},
		"patch/installations/status=a": {patch},
		"patch/installations/status=b": nil,
		"patch/installations":          nil,
		"*/installations/*":            {patch},
		"patch/installations.landscaper.gardener.cloud/status": {patch},
		"patch/installations.example.org/status":               nil,
		"*/configmaps":                                         {create, list},
		"write/configmaps":                                     {create},
		"create/events":                                        {event},
	}
	for text, want := range cases {
		t.Run(text, func(t *testing.T) {
			pattern, err := parsePattern(text)
			if err != nil {
				t.Fatal(err)
			}
			for _, request := range []Request{patch, create, list, event, discovery} {
				selected := false
				for _, wanted := range want {
					selected = selected || wanted.String() == request.String()
				}
				if pattern.Matches(request) != selected {
					t.Errorf("selects %s: %v, want %v", request, !selected, selected)
				}
			}
		})
	}
}
