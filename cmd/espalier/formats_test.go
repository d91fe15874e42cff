// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// families are formats that a command has together or not at all. Formats for people are not among them: each command has its own.
var families = map[string][]string{
	"data":     {"json", "yaml", "jsonpath=", "jsonpath-file=", "go-template=", "go-template-file="},
	"name":     {"name"},
	"tree":     {"tree"},
	"pictures": {"svg", "mermaid", "dot"},
}

// Reasons for which several commands lack formats.
const (
	seeTree       = "`tree` has them"
	seeStatus     = "`pipeline status` has them"
	seeComponent  = "`component tree` has them"
	onlyNames     = "the answer is a list of results, and no graph"
	noObjects     = "the results are no objects, and no graph"
	whole         = "lines have no names, and are no graph"
	onlyManifests = "it prints manifests; `tree` draws what a cluster has of them"
	unending      = "it runs until you stop it"
	effect        = "it prints nothing but messages"
	oneDocument   = "its output is a script, or that of another program"
)

// formatPolicy says what commands print with --output, in the order of docs/cli.md.
var formatPolicy = []struct {
	commands []string
	// people are the formats for people, the default first.
	people string
	// has are the families that the commands have, and lacks is why they do not have the others.
	has, lacks string
}{
	{[]string{"get", "pipeline get"}, "table wide", "data name tree", "pictures: `tree` and `pipeline status` draw one"},
	{[]string{"tree"}, "tree wide", "data name tree pictures", ""},
	{[]string{"inventory"}, "table wide", "data name tree pictures", ""},
	{[]string{"trace"}, "text", "data name tree pictures", ""},
	{[]string{"pipeline status"}, "text wide", "data name tree pictures", ""},
	{[]string{"pipeline graph"}, "text", "data name tree pictures", ""},
	{[]string{"component tree"}, "tree", "data name tree pictures", ""},
	{[]string{"component get"}, "yaml", "data name tree", "pictures: " + seeComponent},
	{[]string{"why", "timeline"}, "text|table", "data name", "tree, pictures: " + seeTree},
	{[]string{"pipeline why"}, "text", "data name", "tree, pictures: " + seeStatus},
	{[]string{"pipeline history"}, "table wide", "data name", "tree, pictures: " + seeStatus},
	{[]string{"history"}, "table wide", "data name", "tree, pictures: a list, and no graph"},
	{[]string{"target check"}, "table", "data name", "tree, pictures: a list, and no graph"},
	{[]string{"diff"}, "text", "data name", "tree, pictures: " + seeTree},
	{[]string{"export", "render"}, "yaml", "data name", "tree, pictures: " + onlyManifests},
	{
		[]string{
			"reconcile", "wait", "interrupt", "suspend", "resume", "delete", "rollback", "create installation", "approve", "reject", "promote",
			"retry", "hold", "target create",
		}, "text", "data name", "tree, pictures: " + onlyNames,
	},
	{[]string{"logs"}, "text", "data", "name, tree, pictures: " + whole},
	{
		[]string{"check", "migrate landscaper", "migrate weave-pipelines", "deployer conformance", "blueprint validate", "version"},
		"text|table", "data", "name, tree, pictures: " + noObjects,
	},
	{[]string{"explain"}, "text", "data", "name, tree, pictures: it explains a word, and no object"},
	{[]string{"component resolve"}, "yaml", "data", "name, tree, pictures: it prints one resource, which only its component names"},
	{[]string{"up"}, "text", "data name", "tree, pictures: only `--list-examples` has formats"},
	{[]string{"watch", "ui", "ui serve"}, "", "", "all: " + unending},
	{[]string{"blueprint push", "blueprint pull", "component verify", "bug-report", "man"}, "", "", "all: " + effect},
	{[]string{"completion bash", "completion zsh", "completion fish", "completion powershell", "kubectl"}, "", "", "all: " + oneDocument},
}

// Every command that does something has the formats that the table says. It may have others for people.
func TestTheFormatsOfEachCommand(t *testing.T) {
	_, all := wholeTree()
	rest := map[string]*cobra.Command{}
	for _, command := range all {
		if !command.HasSubCommands() || command.Name() == "ui" {
			rest[strings.TrimPrefix(command.CommandPath(), "espalier ")] = command
		}
	}
	for _, policy := range formatPolicy {
		for _, name := range policy.commands {
			command := rest[name]
			if command == nil {
				t.Errorf("there is no command %s, or the table names it twice", name)
				continue
			}
			delete(rest, name)
			offered := offeredBy(t, command)
			var people []string
			for _, format := range offered {
				if !slices.ContainsFunc(familyNames(), func(family string) bool { return slices.Contains(families[family], format) }) {
					people = append(people, format)
				}
			}
			for _, family := range familyNames() {
				wanted := slices.Contains(strings.Fields(policy.has), family)
				for _, format := range families[family] {
					if slices.Contains(offered, format) != wanted {
						t.Errorf("%s: it offers %q, and the table says of %s: %v", name, offered, format, wanted)
					}
				}
			}
			for _, format := range people {
				if !strings.Contains(policy.people, format) {
					t.Errorf("%s: the table lacks %s", name, format)
				}
			}
			if len(offered) > 0 && !slices.Contains(strings.FieldsFunc(policy.people, func(r rune) bool { return r == ' ' || r == '|' }), offered[0]) {
				t.Errorf("%s: the default is %s, and the table has %q", name, offered[0], policy.people)
			}
			reason, _, _ := strings.Cut(policy.lacks, ": ")
			for _, family := range familyNames() {
				told := strings.Contains(reason, family) || reason == "all"
				if told == slices.Contains(strings.Fields(policy.has), family) {
					t.Errorf("%s: the table must say either that it has %s, or why not", name, family)
				}
			}
		}
	}
	for name := range rest {
		t.Errorf("the table lacks the command %s", name)
	}
}

func familyNames() []string { return []string{"data", "name", "tree", "pictures"} }

// offeredBy returns what completion offers for --output, the default first; nothing if there is no such flag.
func offeredBy(t *testing.T, command *cobra.Command) []string {
	t.Helper()
	flag := command.Flags().Lookup("output")
	if flag == nil {
		return nil
	}
	complete, found := command.GetFlagCompletionFunc("output")
	if !found || flag.Shorthand != "o" {
		t.Fatalf("%s has a flag --output that is not the one of all commands", command.CommandPath())
	}
	offered, _ := complete(command, nil, "")
	if len(offered) == 0 || offered[0] != flag.DefValue {
		t.Fatalf("%s offers %q, and its default is %q", command.CommandPath(), offered, flag.DefValue)
	}
	return offered
}

// The page has the same table.
func TestTheTableOfFormats(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "cli.md"))
	if err != nil {
		t.Fatal(err)
	}
	rows := []string{"| Command | For people | For programs | Left out, because |", "|---|---|---|---|"}
	for _, policy := range formatPolicy {
		row := []string{quoted(policy.commands), "-", "-", "-"}
		if policy.people != "" {
			row[1] = quoted(strings.FieldsFunc(policy.people, func(r rune) bool { return r == ' ' || r == '|' }))
		}
		if policy.has != "" {
			row[2] = strings.ReplaceAll(policy.has, " ", ", ")
		}
		if policy.lacks != "" {
			row[3] = policy.lacks
		}
		rows = append(rows, "| "+strings.Join(row, " | ")+" |")
	}
	if table := strings.Join(rows, "\n"); !strings.Contains(string(page), "\n"+table+"\n\n") {
		t.Errorf("docs/cli.md lacks this table:\n%s", table)
	}
}

func quoted(words []string) string {
	var all []string
	for _, word := range words {
		all = append(all, fmt.Sprintf("`%s`", word))
	}
	return strings.Join(all, ", ")
}
