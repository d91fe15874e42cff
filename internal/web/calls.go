// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package web

import (
	"net/http"
	"strings"

	eventsv1 "k8s.io/api/events/v1"

	gitops "espalier.dev/api/gitops/v1alpha1"
	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	pipelines "espalier.dev/api/pipelines/v1alpha1"
	"espalier.dev/internal/web/mirror"
	"espalier.dev/internal/web/rights"
)

// call is one of the calls that the pages make. The table of all calls routes requests and feeds the page about access, so that the page
// cannot omit any.
type call struct {
	Path   string `json:"path"`
	Method string `json:"method"`
	// What describes its purpose.
	What string `json:"what"`
	// Rights are those that the reader needs, as in "get secrets"; empty if a session is enough.
	Rights []string `json:"rights"`
	// Server marks a call that the pages do not make: the server itself makes it to the API server, with its own rights. Path is then the
	// resource, and Method its verbs.
	Server bool `json:"server,omitempty"`

	do http.HandlerFunc
}

var (
	ofInstallations  = listing("installations", "executions", "deployitems", "dataobjects", "targets")
	ofPipelines      = append(listing("installations"), inWords(rights.Right{Verb: "list", Group: pipelines.GroupName, Resource: "pipelines"})...)
	ofEvents         = inWords(rights.Right{Verb: "list", Group: eventsv1.GroupName, Resource: "events"})
	ofClusters       = inWords(getRight(lsv1alpha1.GroupName, "targets"), getRight("", "secrets"))
	ofGitopsClusters = inWords(
		rights.Right{Verb: "list", Group: pipelines.GroupName, Resource: "pipelines"}, getRight(gitops.GroupName, "gitopsclusters"),
	)
	// ofBlueprints are the rights to read a blueprint; all but the first are for blueprints in registries and on Git servers.
	ofBlueprints = inWords(
		getRight(lsv1alpha1.GroupName, "installations"), getRight(lsv1alpha1.GroupName, "contexts"),
		getRight(lsv1alpha1.GroupName, "componentversionoverwrites"), getRight("", "secrets"), getRight("", "configmaps"),
	)
	ofImports = both(ofBlueprints, inWords(getRight(lsv1alpha1.GroupName, "dataobjects"), getRight(lsv1alpha1.GroupName, "targets")))
)

// listing returns the rights to list resources of the API.
func listing(resources ...string) []string {
	var all []rights.Right
	for _, resource := range resources {
		all = append(all, rights.Right{Verb: "list", Group: lsv1alpha1.GroupName, Resource: resource})
	}
	return inWords(all...)
}

// inWords formats rights like kubectl.
func inWords(all ...rights.Right) []string {
	words := []string{}
	for _, right := range all {
		text := right.Verb + " " + right.Resource
		if right.Group != "" {
			text += "." + right.Group
		}
		words = append(words, text)
	}
	return words
}

func both(lists ...[]string) []string {
	all := []string{}
	for _, list := range lists {
		all = append(all, list...)
	}
	return all
}

// calls returns the table of all calls.
func (s *Server) calls() []call {
	post := func(path, what string, needs []string, do http.HandlerFunc) call {
		return call{Path: path, Method: http.MethodPost, What: what, Rights: needs, do: do}
	}
	return append(s.readingCalls(), []call{
		post("/api/v1/login", "Log in with a token", inWords(), s.login),
		post("/api/v1/logout", "Log out", inWords(), s.logout),
		post("/api/v1/actions",
			"Reconcile, interrupt, abort, force and delete installations; decide on promotions, hold and release them",
			inWords(patchInstallations, deleteInstallation, patchPipelines, approvePipelines), s.private(s.act)),
		post("/api/v1/checks", "Look at target clusters", both(listing("targets"), ofClusters, ofGitopsClusters), s.private(s.check)),
		post("/api/v1/render", "Render a blueprint with other values", ofImports, s.private(s.render)),
	}...)
}

// readingCalls returns the calls with GET.
func (s *Server) readingCalls() []call {
	get := func(path, what string, needs []string, do http.HandlerFunc) call {
		return call{Path: path, Method: http.MethodGet, What: what, Rights: needs, do: do}
	}
	item := inWords(getRight(lsv1alpha1.GroupName, "deployitems"))
	return []call{
		get("/api/v1/me", "Who you are", inWords(), s.private(s.me)),
		get("/api/v1/access", "Which calls there are", inWords(), s.private(s.access)),
		get("/api/v1/stream/overview", "The overview", both(ofInstallations, ofPipelines[1:]), s.stream(viewOverview)),
		get("/api/v1/stream/targets", "The page of targets", both(listing("targets", "deployitems"), ofPipelines[1:]), s.stream(viewTargets)),
		get("/api/v1/stream/installations/{namespace}/{name}", "The page of an installation", both(ofInstallations, ofEvents),
			s.stream(viewInstallation)),
		get("/api/v1/stream/pipelines/{namespace}/{name}", "The page of a pipeline", both(ofPipelines, ofEvents), s.stream(viewPipeline)),
		get("/api/v1/preview", "What an action would do", inWords(
			getRight(lsv1alpha1.GroupName, "installations"), getRight(pipelines.GroupName, "pipelines")), s.private(s.preview)),
		get("/api/v1/values", "A value of an import or export", inWords(
			getRight(lsv1alpha1.GroupName, "dataobjects"), getRight("", "secrets"), getRight("", "configmaps")), s.private(s.value)),
		get("/api/v1/objects", "An object as YAML", []string{"get of its kind"}, s.private(s.object)),
		get("/api/v1/logs", "What deployers logged about a deploy item", both(item, []string{"list pods", "get pods/log"}), s.private(s.logs)),
		get("/api/v1/live", "What a deploy item has in its cluster", both(item, ofClusters), s.private(s.live)),
		get("/api/v1/live/object", "An object of a deploy item in its cluster, as YAML", both(ofImports, item, ofClusters), s.private(s.liveObject)),
		get("/api/v1/diff", "What the next job would change", both(ofImports, listing("installations", "deployitems", "targets")),
			s.private(s.diff)),
		get("/api/v1/declared", "Types and defaults of imports and exports", ofBlueprints, s.private(s.declared)),
		get("/api/v1/blueprints", "The blueprint of an installation", ofBlueprints, s.private(s.blueprint)),
	}
}

// ownCalls are the requests of the server to the API server with its own rights, for all readers: what it mirrors, and who may see what of
// it. If it serves only the user who started it, it has that user's rights, and asks about no other user.
func (s *Server) ownCalls() []call {
	own := func(what string, rights ...rights.Right) call {
		made := call{What: what, Rights: inWords(rights...), Server: true}
		var verbs []string
		for _, right := range rights {
			made.Path = strings.Trim(right.Resource+"."+right.Group, ".")
			verbs = append(verbs, right.Verb)
		}
		made.Method = strings.Join(verbs, ", ")
		return made
	}
	var all []call
	for _, r := range mirror.Resources() {
		all = append(all, own("The "+r.Resource+" that pages are made of, without what they contain",
			rights.Right{Verb: "list", Group: r.Group, Resource: r.Resource}, rights.Right{Verb: "watch", Group: r.Group, Resource: r.Resource}))
	}
	if s.options.Mode == Local {
		return all
	}
	return append(all,
		own("Who a token belongs to", rights.Right{Verb: "create", Group: "authentication.k8s.io", Resource: "tokenreviews"}),
		own("What a reader may see", rights.Right{Verb: "create", Group: "authorization.k8s.io", Resource: "subjectaccessreviews"}))
}

// access shows all calls with the rights that they need, the server's own calls last.
func (s *Server) access(*http.Request, caller) (any, error) {
	return append(s.calls(), s.ownCalls()...), nil
}
