// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package rights

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

const pageHeader = "# Rights\n\n" +
	"Every right that Espalier needs, and why. The roles are in `config/rbac`. `tools/generate.sh` generates them and this page from markers\n" +
	"beside the code that needs the rights (`internal/rights`). A test runs all controllers, deployers and the web UI with exactly these\n" +
	"roles; it fails on denied requests and on unused rights. [security.md](../security.md) explains what the rights permit.\n\n"

var chapters = []struct{ file, title, text string }{
	{
		ControllerFile, "Controllers and deployers",
		"One role for each, so that a process gets the rights of the controllers that it runs, and no others. Bind them with ClusterRoleBindings.",
	},
	{TokensFile, "Tokens of service accounts", ""},
	{TenancyFile, "Strict tenancy", ""},
	{DefinitionsFile, "CRDs", ""},
	{LeaderElectionFile, "Leader election", ""},
	{UIFile, "Web UI", ""},
	{
		UsersFile, "People",
		"Some of these become a part of the roles `view` and `edit` of Kubernetes, and with them of `admin`. Bind the others to those who need them.",
	},
}

// page lists all rights with their reasons.
func page(grants []Grant) string {
	var w strings.Builder
	w.WriteString(pageHeader)
	for _, chapter := range chapters {
		fmt.Fprintf(&w, "## %s\n\n", chapter.title)
		if chapter.text != "" {
			fmt.Fprintf(&w, "%s\n\n", chapter.text)
		}
		for _, role := range roles {
			if role.File != chapter.file {
				continue
			}
			fmt.Fprintf(&w, "### %s%s\n\n%s%s\n\n| Resource | Verbs | Why |\n|---|---|---|\n", Prefix, role.Name, role.For, partOf(role))
			writeReasons(&w, grants, role.Name)
			w.WriteString("\n")
		}
	}
	return strings.TrimRight(w.String(), "\n") + "\n"
}

func partOf(role Role) string {
	if len(role.Into) == 0 {
		return ""
	}
	return " It is a part of `" + strings.Join(role.Into, "` and `") + "`."
}

// reason is why a role has certain rights on a resource.
type reason struct {
	on, text string
	verbs    []string
}

func writeReasons(w *strings.Builder, grants []Grant, role string) {
	var reasons []reason
	own := slices.Clone(grants)
	slices.SortStableFunc(own, func(a, b Grant) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Resource, b.Resource))
	})
	for _, grant := range own {
		if grant.Role != role {
			continue
		}
		same := func(r reason) bool { return r.on == grant.On() && r.text == grant.Reason }
		i := slices.IndexFunc(reasons, same)
		if i < 0 {
			i, reasons = len(reasons), append(reasons, reason{on: grant.On(), text: grant.Reason})
		}
		if !slices.Contains(reasons[i].verbs, grant.Verb) {
			reasons[i].verbs = append(reasons[i].verbs, grant.Verb)
		}
	}
	for _, r := range reasons {
		fmt.Fprintf(w, "| `%s` | %s | %s |\n", r.on, strings.Join(r.verbs, ", "), strings.ReplaceAll(r.text, "|", `\|`))
	}
}
