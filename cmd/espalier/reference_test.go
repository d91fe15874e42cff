// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
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

// The help of each command lists the exit codes of the reference, and the table of the reference names only commands and flags that exist.
func TestHelpListsTheExitCodes(t *testing.T) {
	root, all := wholeTree()
	for _, e := range cli.AllExitCodes() {
		for _, name := range e.Commands {
			path, flag, depends := strings.Cut(name, " --")
			command, rest, err := root.Find(strings.Fields(path))
			if err != nil || command == root || len(rest) > 0 || depends && command.Flags().Lookup(flag) == nil {
				t.Errorf("the table names %s, which does not exist: %v", name, err)
			}
		}
	}
	listed := 0
	for _, command := range all {
		var help strings.Builder
		command.SetOut(&help)
		if err := command.Help(); err != nil {
			t.Fatal(err)
		}
		for _, outcomes := range cli.ExitCodesOf(command) {
			outcomes.EachExitCode(func(code int, meaning string) {
				listed++
				if want := fmt.Sprintf("\n  %-3d   %s\n", code, meaning); !strings.Contains(help.String(), want) {
					t.Errorf("the help of %s lacks %q", command.CommandPath(), want)
				}
			})
		}
	}
	if listed < 150 {
		t.Errorf("the help texts list %d exit codes", listed)
	}
}
