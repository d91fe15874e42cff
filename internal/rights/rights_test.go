// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package rights

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"
)

var update = flag.Bool("update", false, "rewrite config/rbac and docs/reference/rights.md")

var root = filepath.Join("..", "..")

func generated(t *testing.T) (grants []Grant, files map[string]string) {
	t.Helper()
	grants, err := Read(os.DirFS(root))
	if err != nil {
		t.Fatal(err)
	}
	if files, err = Files(grants); err != nil {
		t.Fatal(err)
	}
	return grants, files
}

func TestTheFilesAreUpToDate(t *testing.T) {
	_, files := generated(t)
	for name, want := range files {
		path := filepath.Join(root, filepath.FromSlash(name))
		if *update {
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		got, err := os.ReadFile(path)
		if err != nil {
			t.Error(err)
			continue
		}
		if difference := cmp.Diff(want, string(got)); difference != "" {
			t.Errorf("%s differs from the markers in the code: run tools/generate.sh (-want +got)\n%s", name, difference)
		}
	}
	there, err := filepath.Glob(filepath.Join(root, "config", "rbac", "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range there {
		if name := "config/rbac/" + filepath.Base(path); files[name] == "" {
			t.Errorf("%s is made from no role: delete it", name)
		}
	}
}

// The files match the markers, and no role has more rights than it requests.
func TestTheRolesHaveTheRightsOfTheMarkers(t *testing.T) {
	grants, files := generated(t)
	found := map[string][]Right{}
	for name, text := range files {
		if !strings.HasPrefix(name, "config/rbac/") || strings.HasSuffix(name, "kustomization.yaml") {
			continue
		}
		for _, document := range strings.Split(text, "---\n")[1:] {
			var role rbacv1.ClusterRole
			if err := yaml.UnmarshalStrict([]byte(document), &role); err != nil {
				t.Fatalf("%s: %v\n%s", name, err, document)
			}
			for _, rule := range role.Rules {
				for _, resource := range rule.Resources {
					for _, verb := range rule.Verbs {
						right := Right{Verb: verb, Group: rule.APIGroups[0], Resource: resource}
						found[strings.TrimPrefix(role.Name, Prefix)] = append(found[strings.TrimPrefix(role.Name, Prefix)], right)
					}
				}
			}
		}
	}
	for _, role := range Roles() {
		slices.SortFunc(found[role.Name], compare)
		if difference := cmp.Diff(rightsOf(grants, role.Name), found[role.Name]); difference != "" {
			t.Errorf("role %s (-markers +file)\n%s", role.Name, difference)
		}
	}
}

// No role has rights that amount to those of an administrator, or of the readers of Secrets.
func TestNoRoleHasTooMuch(t *testing.T) {
	grants, _ := generated(t)
	for _, grant := range grants {
		switch {
		case strings.Contains(grant.String(), "*"):
			t.Errorf("%s: role %s has a right that is not spelled out: %s", grant.At, grant.Role, grant.Right)
		case slices.Contains([]string{"viewer", "approver", "granter", "ui"}, grant.Role) && holdsValues(grant):
			t.Errorf("%s: role %s may read values: %s", grant.At, grant.Role, grant.Right)
		case grant.Role == "ui" && slices.Contains(verbs[4:], grant.Verb):
			t.Errorf("%s: the web UI may change something: %s", grant.At, grant.Right)
		case grant.Resource == "serviceaccounts/token" && grant.Role != "tokens":
			t.Errorf("%s: role %s may act as everybody: use the role tokens, which is bound in single namespaces", grant.At, grant.Role)
		case grant.Group == "rbac.authorization.k8s.io" && grant.Role != "deployer-container":
			t.Errorf("%s: role %s may give rights: %s", grant.At, grant.Role, grant.Right)
		}
	}
}

// holdsValues reports whether objects of the kind contain values of Secrets. The server of the web UI drops the values of those that it
// watches.
func holdsValues(grant Grant) bool {
	values := []string{"secrets", "configmaps"}
	if grant.Role != "ui" {
		values = append(values, "dataobjects", "targets", "executions", "deployitems")
	}
	return slices.Contains(values, grant.Resource)
}

func TestMarkers(t *testing.T) {
	files := fstest.MapFS{
		"config/crd/example.com_targets.yaml": {Data: []byte("x")},
		"internal/a.go": {Data: []byte("package a\n\n//espalier:rights contexts,deployer-m*\n//\tget,list targets,pods/log: why\n\n// Other.\n" +
			"func f() {}\n")},
		"internal/a_test.go":     {Data: []byte("//espalier:rights nobody\n")},
		"internal/testdata/b.go": {Data: []byte("//espalier:rights nobody\n")},
		".cache/c.go":            {Data: []byte("//espalier:rights nobody\n")},
	}
	grants, err := Read(files)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, grant := range grants {
		got = append(got, grant.Role+" "+grant.String()+" "+grant.Reason+" "+grant.At)
	}
	var want []string
	for _, role := range []string{"contexts", "deployer-manifest", "deployer-mock"} {
		for _, right := range []string{"get targets.example.com", "list targets.example.com", "get pods/log", "list pods/log"} {
			want = append(want, role+" "+right+" why internal/a.go:4")
		}
	}
	if difference := cmp.Diff(want, got); difference != "" {
		t.Error(difference)
	}
}

func TestMistakesInMarkers(t *testing.T) {
	for text, want := range map[string]string{
		"//espalier:rights\n//\tget pods: why":                    `a.go:1: there is no role ""`,
		"//espalier:rights context\n//\tget pods: why":            `a.go:1: there is no role "context"`,
		"//espalier:rights contexts,x-*\n//\tget pods: why":       `a.go:1: there is no role "x-*"`,
		"//espalier:rights contexts\n\n//\tget pods: why":         "a.go:2: the marker has no rights",
		"//espalier:rights contexts\n// get pods: why":            "a.go:2: the marker has no rights",
		"//espalier:rights contexts":                              "a.go:2: the marker has no rights",
		"//espalier:rights contexts\n//\tget pods":                `a.go:2: "get pods" is not a right`,
		"//espalier:rights contexts\n//\tget pods: ":              `a.go:2: "get pods: " is not a right`,
		"//espalier:rights contexts\n//\tget: why":                `a.go:2: "get: why" is not a right`,
		"//espalier:rights contexts\n//\tget, list pods: why":     `a.go:2: "get, list pods: why" is not a right`,
		"//espalier:rights contexts\n//\tget,see pods: why":       `a.go:2: "see" is not a verb`,
		"//espalier:rights contexts\n//\t* pods: why":             `a.go:2: "*" is not a verb`,
		"//espalier:rights contexts\n//\tget pods: a\n//\tx y: b": `a.go:3: "x" is not a verb`,
	} {
		_, err := Read(fstest.MapFS{"config/crd/example.com_targets.yaml": {Data: []byte("x")}, "a.go": {Data: []byte(text)}})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
	if _, err := Read(fstest.MapFS{}); err == nil {
		t.Error("without definitions there are no groups, and nobody says so")
	}
	if _, err := Files(nil); err == nil || !strings.Contains(err.Error(), "role contexts has no rights") {
		t.Errorf("roles without rights: %v", err)
	}
}
