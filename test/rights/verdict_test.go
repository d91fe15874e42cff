// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package rights_test

import (
	"fmt"
	"net/http"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"espalier.dev/internal/rights"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/faults"
)

// unexercised are rights for situations that this test does not produce, with the reason. A role may be a pattern.
var unexercised = []struct{ role, right, why string }{
	{"*", "patch events.events.k8s.io", "only the second Event of the same kind about the very same version of an object is counted"},
	{"contexts", "get contexts.landscaper.gardener.cloud", tookOver},
	{"installations", "get contexts.landscaper.gardener.cloud", tookOver},
	{"installations", "get componentversionoverwrites.landscaper.gardener.cloud", tookOver},
	{"executions", "get executions.landscaper.gardener.cloud", tookOver},
	{"executions", "get deployitems.landscaper.gardener.cloud", "only a deploy item that is recorded and that the cache does not show is read"},
	{"deployitems", "get deployitems.landscaper.gardener.cloud", tookOver},
	{"targetsyncs", "get targetsyncs.landscaper.gardener.cloud", tookOver},
	{"targetsyncs", "get targets.landscaper.gardener.cloud", tookOver},
	{"deployer-mock", "get deployitems.landscaper.gardener.cloud", tookOver},
	{"installations", "update installations.landscaper.gardener.cloud/finalizers", enforced},
	{"executions", "update executions.landscaper.gardener.cloud/finalizers", enforced},
	{
		"definitions", "create customresourcedefinitions.apiextensions.k8s.io",
		"the request is a patch, and the API server asks for this right, too, if what is applied does not exist",
	},
	{
		"deployer-container", "patch secrets",
		"no request has it, but without it the API server refuses the role by which pods patch their Secrets",
	},
}

const (
	tookOver = "only a process that has just taken over the lead, and whose cache is behind what the leader before has written, reads it"
	enforced = "only API servers with the admission plugin OwnerReferencesPermissionEnforcement ask for it; the one of the tests has it not"
)

// check compares the requests to the API server with the rights of the roles. It waits for requests in the background.
func (e *estate) check(t *testing.T) {
	t.Helper()
	grants, err := rights.Read(os.DirFS(root))
	if err != nil {
		t.Fatal(err)
	}
	limit := time.NewTimer(testkit.Patience)
	defer limit.Stop()
	again := time.NewTicker(500 * time.Millisecond)
	defer again.Stop()
	var idle []string
	for over := false; !over; {
		if idle = e.idle(grants); len(idle) == 0 {
			break
		}
		select {
		case <-again.C:
		case <-limit.C:
			over = true
		}
	}
	for _, complaint := range slices.Concat(e.denied(), idle, superfluous(grants)) {
		t.Error(complaint)
	}
}

// denied returns the requests that the API server has denied.
func (e *estate) denied() []string {
	var complaints []string
	for role, traffic := range e.traffic {
		for _, entry := range traffic.Log() {
			if entry.Status != http.StatusForbidden || entry.Verb == "create" && entry.Namespace == e.ending {
				continue
			}
			if right := rightOf(entry.Request); !slices.Contains(complaints, denial(role, right, entry.Path)) {
				complaints = append(complaints, denial(role, right, entry.Path))
			}
		}
	}
	return complaints
}

func denial(role string, right rights.Right, at string) string {
	if right.Resource == "" {
		return fmt.Sprintf("role %s: %s %s was denied", role, right.Verb, at)
	}
	return fmt.Sprintf("role %s: %s was denied. If it is needed, write a marker beside the code that asks, and run tools/generate.sh:\n\n"+
		"//espalier:rights %s\n//\t%s: why", role, right, role, right)
}

// idle returns the unused rights.
func (e *estate) idle(grants []rights.Grant) []string {
	used := e.used()
	var complaints []string
	for _, grant := range grants {
		served := e.traffic[grant.Role] != nil || used[grant.Role] != nil // users have rights, too
		if !served || used[grant.Role][grant.Right] || isUnexercised(grant) {
			continue
		}
		complaint := fmt.Sprintf("role %s has the right to %s, which nobody has used: take it out of the marker at %s, "+
			"or let the test do what it is for (%s)", grant.Role, grant.Right, grant.At, grant.Reason)
		complaints = append(complaints, complaint)
	}
	return complaints
}

// used returns the rights that requests have needed, by role.
func (e *estate) used() map[string]map[rights.Right]bool {
	used := map[string]map[rights.Right]bool{"leader-election": {}, "tokens": {}}
	for role, traffic := range e.traffic {
		used[role] = map[rights.Right]bool{}
		for _, entry := range traffic.Log() {
			if entry.Status == http.StatusForbidden || entry.Status == 0 {
				continue
			}
			for _, right := range rightsOf(entry.Request) {
				used[e.holder(role, entry.Request)][right] = true
			}
		}
	}
	return used
}

// holder returns the role that permits a request.
func (e *estate) holder(role string, request faults.Request) string {
	switch {
	case request.Resource == "leases", request.Resource == "events" && request.Group == "" && request.Namespace == e.system:
		return "leader-election"
	case request.Resource == "serviceaccounts" && request.Subresource == "token":
		return "tokens"
	}
	return role
}

// rightsOf returns the rights for a request. A watch that starts with a list is one request here, and two at API servers that do not
// support such watches.
func rightsOf(request faults.Request) []rights.Right {
	right := rightOf(request)
	if !request.StreamsList {
		return []rights.Right{right}
	}
	list := right
	list.Verb = "list"
	return []rights.Right{right, list}
}

func rightOf(request faults.Request) rights.Right {
	resource := request.Resource
	if request.Subresource != "" {
		resource += "/" + request.Subresource
	}
	return rights.Right{Verb: request.Verb, Group: request.Group, Resource: resource}
}

func isUnexercised(grant rights.Grant) bool {
	for _, exception := range unexercised {
		if fits, err := path.Match(exception.role, grant.Role); err == nil && fits && exception.right == grant.String() {
			return true
		}
	}
	return false
}

// superfluous returns exceptions for rights that no role has.
func superfluous(grants []rights.Grant) []string {
	var complaints []string
	for _, exception := range unexercised {
		needed := slices.ContainsFunc(grants, func(grant rights.Grant) bool {
			fits, err := path.Match(exception.role, grant.Role)
			return err == nil && fits && exception.right == grant.String()
		})
		if !needed || strings.TrimSpace(exception.why) == "" {
			complaints = append(complaints,
				fmt.Sprintf("no role like %s has the right to %s: take it out of the exceptions", exception.role, exception.right))
		}
	}
	return complaints
}
