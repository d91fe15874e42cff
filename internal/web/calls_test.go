// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package web

import (
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"

	"espalier.dev/internal/testkit"
)

// The page about access shows the table that routes requests, and the documentation names all of it.
func TestEveryCallIsDocumented(t *testing.T) {
	s := serve(t, testkit.Server(t), Options{})
	var told []call
	s.local(t).get("/api/v1/access").into(t, &told)
	page, err := os.ReadFile("../../docs/ui.md")
	if err != nil {
		t.Fatal(err)
	}
	open := map[string]bool{"/api/v1/login": true, "/api/v1/logout": true, "/api/v1/me": true, "/api/v1/access": true}
	told = slices.DeleteFunc(told, func(c call) bool { return c.Server })
	if len(told) != len(s.calls()) || len(told) < 18 {
		t.Errorf("%d calls are told", len(told))
	}
	for _, c := range told {
		if c.What == "" || c.Rights == nil || (len(c.Rights) == 0) != open[c.Path] {
			t.Errorf("%+v", c)
		}
		if !strings.Contains(string(page), lastPart.FindString(c.Path)) {
			t.Errorf("docs/ui.md does not name %s", c.Path)
		}
		answer := (&visitor{t: t, at: s.address}).do((&visitor{t: t, at: s.address}).request(c.Method, c.Path, nil))
		if answer.StatusCode == http.StatusNotFound || !open[c.Path] && answer.StatusCode != http.StatusUnauthorized {
			t.Errorf("%s %s without a session: %s", c.Method, c.Path, answer.Status)
		}
	}
}

// The server's requests with its own rights are documented as well: the documentation grants its service account these rights, and no more.
func TestTheServersOwnCallsAreTold(t *testing.T) {
	cluster := testkit.Server(t)
	page, err := os.ReadFile("../../docs/ui.md")
	if err != nil {
		t.Fatal(err)
	}
	_, role, _ := strings.Cut(string(page), "kind: ClusterRole\n")
	role, _, _ = strings.Cut(role, "```")
	var documented struct {
		Rules []rbacv1.PolicyRule `json:"rules"`
	}
	if err := yaml.Unmarshal([]byte(role), &documented); err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, rule := range documented.Rules {
		for _, resource := range rule.Resources {
			for _, verb := range rule.Verbs {
				want = append(want, verb+" "+resource+"."+rule.APIGroups[0])
			}
		}
	}
	s := serve(t, cluster, Options{Mode: Cluster, Hosts: []string{"127.0.0.1"}})
	var told []call
	s.login(t, tokenFor(t, cluster, cluster.Namespace(t), looking())).get("/api/v1/access").into(t, &told)
	var have []string
	for _, c := range told {
		if c.Server {
			have = append(have, c.Rights...)
			if c.What == "" || c.Path == "" || c.Method == "" {
				t.Errorf("%+v", c)
			}
		}
	}
	slices.Sort(want)
	slices.Sort(have)
	if len(want) == 0 || !slices.Equal(have, want) {
		t.Errorf("the server tells %v, the documentation has %v", have, want)
	}
}

var lastPart = regexp.MustCompile(`/[a-z]+(/\{namespace\}/\{name\})?$`)

// All calls are registered through the table.
func TestCallsAreRegisteredByTheirTable(t *testing.T) {
	files, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if !strings.HasSuffix(file.Name(), ".go") || strings.HasSuffix(file.Name(), "_test.go") {
			continue
		}
		text, err := os.ReadFile(file.Name())
		if err != nil {
			t.Fatal(err)
		}
		if regexp.MustCompile(`Handle(Func)?\("[A-Z]+ /api/`).Match(text) {
			t.Errorf("%s registers a call that the table does not have", file.Name())
		}
	}
}
