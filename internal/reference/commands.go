// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package reference

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

const commandsHeading = `# Commands

Every command of ` + "`espalier`" + ` with its flags; ` + "`kubectl espalier`" + ` has the same. [Command line](../cli.md) shows how to use them. This
page is generated from the commands: ` + "`make generate`" + `.

`

const exitCodesHeading = `
## Exit codes

An empty cell means that the command does not end with this code. A group, such as ` + "`component`" + `, stands for all commands below it.

Ctrl-C ends most commands with code 130, the code that shells report for every program that Ctrl-C ends. It ends the command and nothing in
the cluster: jobs and requests continue. With several installations, the most severe code counts, in this order: 130, 1, 5, 2, 4, 3.

`

// connection are the flags by which commands find their cluster, as in kubectl: names, notation, values and meanings.
var connection = [][4]string{
	{"as", "`--as`", "string", "user to impersonate"},
	{"context", "`--context`", "string", "context of the kubeconfig to use"},
	{"kubeconfig", "`--kubeconfig`", "file", "kubeconfig to use"},
	{"namespace", "`-n`, `--namespace`", "string", "namespace (default: that of the context)"},
}

func isConnection(f *pflag.Flag) bool {
	return slices.ContainsFunc(connection, func(known [4]string) bool { return known[0] == f.Name })
}

// ExitCodes says what the exit codes of some commands mean: see package cli.
type ExitCodes struct {
	Commands []string
	Meanings map[int]string
}

// CommandsPage returns the page about a command and all its subcommands.
func CommandsPage(command *cobra.Command, exits []ExitCodes) (string, error) {
	var page strings.Builder
	command.InitDefaultCompletionCmd()
	page.WriteString(commandsHeading)
	page.WriteString("| Command | |\n|---|---|\n")
	all := commandsBelow(command)
	for _, c := range all {
		fmt.Fprintf(&page, "| [`%s`](#%s) | %s |\n", c.CommandPath(), strings.ReplaceAll(c.CommandPath(), " ", "-"), cell(c.Short))
	}
	page.WriteString("\n## Connection flags\n\nCommands that connect to a cluster have these flags, and the other connection flags of kubectl.\n\n")
	page.WriteString("| Flag | Value | |\n|---|---|---|\n")
	for _, f := range connection {
		fmt.Fprintf(&page, "| %s | %s | %s |\n", f[1], f[2], f[3])
	}
	page.WriteString(exitCodesHeading + exitTable(exits))
	for _, c := range all {
		fmt.Fprintf(&page, "\n## %s\n\n", c.CommandPath())
		if err := describe(&page, c); err != nil {
			return "", err
		}
	}
	return page.String(), nil
}

// completion is the command of cobra that prints scripts for shells.
const completion = "completion"

// commandsBelow returns the commands that users can run, sorted by name.
func commandsBelow(command *cobra.Command) []*cobra.Command {
	var all []*cobra.Command
	for _, c := range command.Commands() {
		if c.Hidden || c.Name() == "help" {
			continue
		}
		if c.Name() == completion {
			all = append(all, c) // One section is enough for all shells.
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
	connects := c.Flags().Lookup("context") != nil // --kubeconfig of up names a file to write.
	if connects {
		page.WriteString("\nIt also has the [connection flags](#connection-flags).\n")
	}
	if table := flagTable(c.Flags(), func(f *pflag.Flag) bool { return !connects || !isConnection(f) }); table != "" {
		page.WriteString("\n" + table)
	}
	return undocumented(c)
}

// writeProse writes a help text. It keeps text that is laid out with spaces.
func writeProse(page *strings.Builder, text string) {
	for paragraph := range strings.SplitSeq(strings.TrimSpace(text), "\n\n") {
		if strings.HasPrefix(paragraph, " ") || strings.Contains(paragraph, "\n ") || strings.Contains(paragraph, "  ") {
			fmt.Fprintf(page, "```text\n%s\n```\n\n", unindented(paragraph))
			continue
		}
		fmt.Fprintf(page, "%s\n\n", strings.NewReplacer("<", `\<`, "*", `\*`, "_", `\_`).Replace(paragraph))
	}
}

// unindented returns a text without the common indentation of its lines.
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

// flagTable returns a table of the wanted flags; empty if there are none.
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

// inOneCell formats a text of several lines for the cell of a table.
func inOneCell(text string) string {
	var lines []string
	for line := range strings.SplitSeq(text, "\n") {
		lines = append(lines, strings.Join(strings.Fields(line), " "))
	}
	return strings.ReplaceAll(strings.Join(lines, "<br>"), "*", `\*`)
}

// undocumented returns an error for flags without a description.
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

// exitTable returns a table with the meaning of each exit code for each command.
func exitTable(exits []ExitCodes) string {
	used := map[int]bool{}
	for _, e := range exits {
		for number := range e.Meanings {
			used[number] = true
		}
	}
	numbers := slices.Sorted(maps.Keys(used))
	var table strings.Builder
	table.WriteString("| Commands |")
	for _, number := range numbers {
		table.WriteString(" " + strconv.Itoa(number) + " |")
	}
	table.WriteString("\n|---|" + strings.Repeat("---|", len(numbers)) + "\n")
	for _, e := range exits {
		commands := code(e.Commands)
		if commands == "" {
			commands = "all others that connect to a cluster"
		}
		if len(e.Meanings) == 0 {
			commands += ": the codes of the program that it runs"
		}
		table.WriteString("| " + commands + " |")
		for _, number := range numbers {
			table.WriteString(" " + cell(e.Meanings[number]) + " |")
		}
		table.WriteString("\n")
	}
	return table.String()
}
