// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package reference

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

const commandsHeading = `# Commands

Every command of ` + "`espalier`" + ` with its flags; ` + "`kubectl espalier`" + ` has the same. [Command line](../cli.md) shows how to use them. This
page is generated from the commands: ` + "`make generate`" + `.

`

const configurationHeading = `# Configuration of the controllers

Every flag of ` + "`espalier-controller`" + `. [Install](../install.md) shows where to set them, [operations](../operations.md) which to set.
This page is generated from the flags: ` + "`make generate`" + `.

`

// connection are flags by which commands find their cluster, as kubectl has them: names, how they are written, values and meanings.
var connection = [][4]string{
	{"as", "`--as`", "string", "user to impersonate"},
	{"context", "`--context`", "string", "context of the kubeconfig to use"},
	{"kubeconfig", "`--kubeconfig`", "file", "kubeconfig to use"},
	{"namespace", "`-n`, `--namespace`", "string", "namespace (default: that of the context)"},
}

func isConnection(f *pflag.Flag) bool {
	return slices.ContainsFunc(connection, func(known [4]string) bool { return known[0] == f.Name })
}

// CommandsPage returns the page about a command and all below it. The exit codes come from the tree at a root.
func CommandsPage(root string, command *cobra.Command) (string, error) {
	var page strings.Builder
	page.WriteString(commandsHeading)
	page.WriteString("| Command | |\n|---|---|\n")
	all := commandsBelow(command)
	for _, c := range all {
		fmt.Fprintf(&page, "| [`%s`](#%s) | %s |\n", c.CommandPath(), strings.ReplaceAll(c.CommandPath(), " ", "-"), cell(c.Short))
	}
	codes, err := exitCodes(root)
	if err != nil {
		return "", err
	}
	page.WriteString("\n## Connection flags\n\nCommands that connect to a cluster have these flags, and the other connection flags of kubectl.\n\n")
	page.WriteString("| Flag | Value | |\n|---|---|---|\n")
	for _, f := range connection {
		fmt.Fprintf(&page, "| %s | %s | %s |\n", f[1], f[2], f[3])
	}
	page.WriteString("\n## Exit codes\n\n`espalier kubectl` and `espalier diff` have the exit codes of kubectl.\n\n| Code | |\n|---|---|\n" + codes)
	for _, c := range all {
		fmt.Fprintf(&page, "\n## %s\n\n", c.CommandPath())
		if err := describe(&page, c); err != nil {
			return "", err
		}
	}
	return page.String(), nil
}

// ConfigurationPage returns the page about the flags of the controllers.
func ConfigurationPage(command *cobra.Command) (string, error) {
	var page strings.Builder
	page.WriteString(configurationHeading)
	return page.String() + flagTable(command.Flags(), func(*pflag.Flag) bool { return true }), undocumented(command)
}

// commandsBelow are the commands that users can run, in the order of their names.
func commandsBelow(command *cobra.Command) []*cobra.Command {
	var all []*cobra.Command
	for _, c := range command.Commands() {
		if c.Hidden || c.Name() == "help" || c.Name() == "completion" {
			continue
		}
		if c.Runnable() {
			all = append(all, c)
		}
		all = append(all, commandsBelow(c)...)
	}
	slices.SortFunc(all, func(a, b *cobra.Command) int { return strings.Compare(a.CommandPath(), b.CommandPath()) })
	return slices.CompactFunc(all, func(a, b *cobra.Command) bool { return a == b })
}

func describe(page *strings.Builder, c *cobra.Command) error {
	text := c.Long
	if text == "" {
		text = c.Short + "."
	}
	writeProse(page, text)
	fmt.Fprintf(page, "```text\n%s\n```\n", c.UseLine())
	if len(c.Aliases) > 0 {
		fmt.Fprintf(page, "\nAlso: %s.\n", code(c.Aliases))
	}
	if c.Example != "" {
		fmt.Fprintf(page, "\n```text\n%s\n```\n", unindented(c.Example))
	}
	connects := c.Flags().Lookup("kubeconfig") != nil
	if connects {
		page.WriteString("\nIt also has the [connection flags](#connection-flags).\n")
	}
	if table := flagTable(c.Flags(), func(f *pflag.Flag) bool { return !connects || !isConnection(f) }); table != "" {
		page.WriteString("\n" + table)
	}
	return undocumented(c)
}

// writeProse writes a help text. What is laid out with spaces stays so.
func writeProse(page *strings.Builder, text string) {
	for paragraph := range strings.SplitSeq(strings.TrimSpace(text), "\n\n") {
		if strings.HasPrefix(paragraph, " ") || strings.Contains(paragraph, "\n ") || strings.Contains(paragraph, "  ") {
			fmt.Fprintf(page, "```text\n%s\n```\n\n", unindented(paragraph))
			continue
		}
		fmt.Fprintf(page, "%s\n\n", strings.NewReplacer("<", `\<`, "*", `\*`, "_", `\_`).Replace(paragraph))
	}
}

// unindented is a text without the spaces that all of its lines begin with.
func unindented(text string) string {
	lines := strings.Split(strings.Trim(text, "\n"), "\n")
	shortest := len(text)
	for _, line := range lines {
		if strings.TrimSpace(line) != "" {
			shortest = min(shortest, len(line)-len(strings.TrimLeft(line, " ")))
		}
	}
	for i, line := range lines {
		lines[i] = strings.TrimRight(line[min(shortest, len(line)):], " ")
	}
	return strings.Join(lines, "\n")
}

// flagTable is a table of the flags that are wanted; empty if there are none.
func flagTable(flags *pflag.FlagSet, wanted func(*pflag.Flag) bool) string {
	var rows strings.Builder
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Name == "help" || f.Name == "version" || !wanted(f) {
			return
		}
		written := "`--" + f.Name + "`"
		if f.Shorthand != "" {
			written = "`-" + f.Shorthand + "`, " + written
		}
		kind, usage := pflag.UnquoteUsage(f)
		fallback := ""
		if !slices.Contains([]string{"", "false", "0", "0s", "[]", "<nil>"}, f.DefValue) {
			fallback = "`" + f.DefValue + "`"
		}
		fmt.Fprintf(&rows, "| %s | %s | %s | %s |\n", written, cell(kind), cell(fallback), cell(inOneCell(usage)))
	})
	if rows.Len() == 0 {
		return ""
	}
	return "| Flag | Value | Default | |\n|---|---|---|---|\n" + rows.String()
}

// inOneCell puts a text of several lines into the cell of a table.
func inOneCell(text string) string {
	var lines []string
	for line := range strings.SplitSeq(text, "\n") {
		lines = append(lines, strings.Join(strings.Fields(line), " "))
	}
	return strings.ReplaceAll(strings.Join(lines, "<br>"), "*", `\*`)
}

// undocumented complains about flags that do not say what they are for.
func undocumented(c *cobra.Command) error {
	var problem error
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden && f.Usage == "" {
			problem = fmt.Errorf("flag --%s of %s does not say what it is for", f.Name, c.CommandPath())
		}
	})
	if c.Short == "" {
		return fmt.Errorf("%s does not say what it is for", c.CommandPath())
	}
	return problem
}

// exitCodes are the rows of a table of exit codes, from the constants of package cli.
func exitCodes(root string) (string, error) {
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, "internal", "cli", "exit.go"), nil, parser.ParseComments)
	if err != nil {
		return "", err
	}
	var rows strings.Builder
	var problem error
	eachConstant(file, func(_ *ast.GenDecl, spec *ast.ValueSpec, i int) {
		number, ok := spec.Values[i].(*ast.BasicLit)
		if !ok || number.Kind != token.INT {
			return
		}
		local := spec.Names[i].Name
		text := strings.TrimPrefix(strings.TrimPrefix(strings.TrimPrefix(words(spec.Doc), local+" "), "says that "), "is ")
		text = strings.ReplaceAll(text, ", or that ", ", or ")
		if number.Value == "0" {
			text = "success"
		}
		if text == "" {
			problem = fmt.Errorf("%s of internal/cli/exit.go: %w", local, errUndocumented)
			return
		}
		fmt.Fprintf(&rows, "| `%s` | %s |\n", number.Value, cell(strings.ToUpper(text[:1])+text[1:]))
	})
	return rows.String(), problem
}
