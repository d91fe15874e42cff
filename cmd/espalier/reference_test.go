// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"espalier.dev/internal/cli"
	"espalier.dev/internal/reference"
	"espalier.dev/internal/testkit"
)

// The page lists all commands with their flags, and all commands that other pages of the reference show exist.
func TestTheReferenceOfCommands(t *testing.T) {
	root := newRoot(cli.NewEnvironment(genericiooptions.NewTestIOStreamsDiscard()))
	docs := filepath.Join("..", "..", "docs", "reference")
	var exits []reference.ExitCodes
	for _, e := range cli.AllExitCodes() {
		exits = append(exits, reference.ExitCodes(e))
	}
	page, err := reference.CommandsPage(root, exits)
	if err != nil {
		t.Fatal(err)
	}
	testkit.Golden(t, "../../../docs/reference/commands.md", page)
	named := 0
	for _, other := range []string{"errors.md", "conditions.md", "annotations.md"} {
		text, err := os.ReadFile(filepath.Join(docs, other))
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range regexp.MustCompile("`espalier ([a-z][a-z -]*)").FindAllStringSubmatch(string(text), -1) {
			named++
			path := strings.Fields(match[1])
			found, rest, err := root.Find(path)
			if err != nil || found == root || found.HasSubCommands() && len(rest) > 0 {
				t.Errorf("%s names the command espalier %s, which does not exist: %v", other, match[1], err)
			}
		}
	}
	if named < 10 {
		t.Errorf("the pages name %d commands", named)
	}
}

// wholeTree returns the root command with everything below it that users can run.
func wholeTree() (*cobra.Command, []*cobra.Command) {
	root := newRoot(cli.NewEnvironment(genericiooptions.NewTestIOStreamsDiscard()))
	root.InitDefaultCompletionCmd()
	var all func(*cobra.Command) []*cobra.Command
	all = func(of *cobra.Command) (found []*cobra.Command) {
		for _, command := range of.Commands() {
			if !command.Hidden && command.Name() != "help" {
				found = append(append(found, command), all(command)...)
			}
		}
		return found
	}
	return root, all(root)
}

// Every command has a section, including those that only this program has. One section describes the scripts for all shells.
func TestEveryCommandHasASection(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "cli.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, all := wholeTree()
	for _, command := range all {
		title := strings.TrimPrefix(command.CommandPath(), "espalier ")
		if command.Parent().Name() == "completion" {
			title = "completion"
		}
		if !strings.Contains(string(page), "\n## `espalier "+title+"`\n") {
			t.Errorf("docs/cli.md has no section on %s", command.CommandPath())
		}
	}
	if len(all) < 50 {
		t.Errorf("the program has %d commands", len(all))
	}
}

// Every command has a manual page, which groff reads without a warning, if it is installed.
func TestEveryCommandHasAManualPage(t *testing.T) {
	root, all := wholeTree()
	dir := t.TempDir()
	root.SetArgs([]string{"man", "--dir", dir})
	if code := cli.Run(t.Context(), root); code != cli.ExitOK {
		t.Fatalf("exit code %d", code)
	}
	groff, missing := exec.LookPath("groff")
	for _, command := range append(all, root) {
		page := filepath.Join(dir, strings.ReplaceAll(command.CommandPath(), " ", "-")+".1")
		if _, err := os.Stat(page); err != nil {
			t.Error(err)
		}
		if missing != nil {
			continue
		}
		if out, err := exec.CommandContext(t.Context(), groff, "-man", "-Tutf8", "-ww", "-z", page).CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("%s: %v: %s", page, err, out)
		}
	}
}

var (
	codesInHelp = regexp.MustCompile(`(?s)Exit codes: .*?(?:\n\n|$)`)
	codeInHelp  = regexp.MustCompile(`\b[0-9]+\b`)
)

// The table of exit codes and the help of each command name the same codes. A command whose help has the text that many share may end with
// fewer. Ctrl-C ends any command, so not every help names its code.
func TestTheTableOfExitCodesAgreesWithTheHelp(t *testing.T) {
	root, all := wholeTree()
	rows, others := map[*cobra.Command]map[int]string{}, map[int]string(nil)
	for _, e := range cli.AllExitCodes() {
		if len(e.Commands) == 0 {
			others = e.Meanings
		}
		for _, name := range e.Commands {
			path, flag, depends := strings.Cut(name, " --")
			command, rest, err := root.Find(strings.Fields(path))
			if err != nil || command == root || len(rest) > 0 || depends && command.Flags().Lookup(flag) == nil {
				t.Errorf("the table names %s, which does not exist: %v", name, err)
			} else if !depends {
				rows[command] = e.Meanings
			}
		}
	}
	for _, command := range all {
		row, named := others, false
		for c := command; c != nil && !named; c = c.Parent() {
			if own, found := rows[c]; found {
				row, named = own, true
			}
		}
		if !command.HasSubCommands() {
			compareCodes(t, command, row, named)
		}
	}
}

func compareCodes(t *testing.T, command *cobra.Command, row map[int]string, named bool) {
	t.Helper()
	inHelp := map[int]bool{}
	for _, text := range codeInHelp.FindAllString(codesInHelp.FindString(command.Long), -1) {
		number, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		inHelp[number] = true
	}
	shared := strings.Contains(command.Long, cli.ExitCodesHelp)
	if !shared && !named {
		t.Errorf("%s has its own exit codes, and the table does not name it", command.CommandPath())
	}
	for number := range row {
		if len(inHelp) > 0 && !inHelp[number] && number != cli.ExitDetached {
			t.Errorf("the table names code %d of %s, its help does not", number, command.CommandPath())
		}
	}
	for number := range inHelp {
		if row[number] == "" && !shared {
			t.Errorf("the help of %s names code %d, the table does not", command.CommandPath(), number)
		}
	}
}
