// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package rights

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Page is where the page with all rights is.
const Page = "docs/reference/rights.md"

const yamlHeader = `# SPDX-FileCopyrightText: The Espalier authors
# SPDX-License-Identifier: Apache-2.0
#
# Made by tools/generate.sh from markers in the code; docs/reference/rights.md has the reason for each right.
`

// Files are all that is made from the rights, by path.
func Files(grants []Grant) (map[string]string, error) {
	contents := map[string]*strings.Builder{}
	var order []string
	for _, role := range roles {
		own := rightsOf(grants, role.Name)
		if len(own) == 0 {
			return nil, fmt.Errorf("role %s has no rights: remove it from internal/rights/roles.go, or write markers", role.Name)
		}
		if contents[role.File] == nil {
			contents[role.File] = &strings.Builder{}
			contents[role.File].WriteString(yamlHeader)
			order = append(order, role.File)
		}
		writeRole(contents[role.File], role, own)
	}
	files := map[string]string{Page: page(grants), "config/rbac/kustomization.yaml": kustomization(order)}
	for name, content := range contents {
		files["config/rbac/"+name] = content.String()
	}
	return files, nil
}

func kustomization(files []string) string {
	text := yamlHeader + "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources:\n"
	for _, file := range files {
		text += "  - " + file + "\n"
	}
	return text
}

// rightsOf are the rights of a role, each once.
func rightsOf(grants []Grant, role string) []Right {
	var own []Right
	for _, grant := range grants {
		if grant.Role == role && !slices.Contains(own, grant.Right) {
			own = append(own, grant.Right)
		}
	}
	slices.SortFunc(own, compare)
	return own
}

func compare(a, b Right) int {
	return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Resource, b.Resource), slices.Index(verbs, a.Verb)-slices.Index(verbs, b.Verb))
}

// rule is one of a role: resources of a group on which the same is permitted.
type rule struct {
	group            string
	resources, verbs []string
}

func rulesOf(own []Right) []rule {
	var single []rule
	for _, right := range own {
		if last := len(single) - 1; last >= 0 && single[last].group == right.Group && single[last].resources[0] == right.Resource {
			single[last].verbs = append(single[last].verbs, right.Verb)
			continue
		}
		single = append(single, rule{group: right.Group, resources: []string{right.Resource}, verbs: []string{right.Verb}})
	}
	var rules []rule
	for _, next := range single {
		same := func(r rule) bool { return r.group == next.group && slices.Equal(r.verbs, next.verbs) }
		if i := slices.IndexFunc(rules, same); i >= 0 {
			rules[i].resources = append(rules[i].resources, next.resources...)
			continue
		}
		rules = append(rules, next)
	}
	return rules
}

func writeRole(w *strings.Builder, role Role, own []Right) {
	kind := "ClusterRole"
	if role.Namespaced {
		kind = "Role"
	}
	fmt.Fprintf(w, "---\napiVersion: rbac.authorization.k8s.io/v1\nkind: %s\nmetadata:\n  name: %s%s\n  labels:\n", kind, Prefix, role.Name)
	fmt.Fprintf(w, "    app.kubernetes.io/part-of: espalier\n")
	for _, into := range role.Into {
		fmt.Fprintf(w, "    rbac.authorization.k8s.io/aggregate-to-%s: \"true\"\n", into)
	}
	fmt.Fprintf(w, "rules:\n")
	for _, r := range rulesOf(own) {
		group := r.group
		if group == "" {
			group = `""`
		}
		resources, permitted := strings.Join(r.resources, ", "), strings.Join(r.verbs, ", ")
		fmt.Fprintf(w, "  - apiGroups: [%s]\n    resources: [%s]\n    verbs: [%s]\n", group, resources, permitted)
	}
}
