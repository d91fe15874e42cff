// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package man is the command "espalier man", which writes manual pages of all commands for packages of operating systems.
package man

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"espalier.dev/internal/cli"
)

// section is the one of the manual for programs that users run.
const section = "1"

// New returns the command. It writes pages of all commands of the program that it belongs to.
func New(env cli.Environment) *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:   "man --dir DIR",
		Short: "Write manual pages of all commands",
		Long: `Write a manual page of each command into a directory, for packages of operating systems:
espalier.1, espalier-tree.1, espalier-pipeline-why.1 and so on. The directory is created if
it is missing. The same version writes the same bytes.

To read a page without installing it: man ./espalier-tree.1`,
		Example: `  espalier man --dir /usr/local/share/man/man1
  espalier man --dir . && man ./espalier-tree.1`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if dir == "" {
				return cli.Misused(cmd, errors.New("--dir is required: name the directory for the pages"))
			}
			count, err := writeAll(cmd.Root(), dir)
			if err == nil {
				fmt.Fprintf(env.ErrOut, "wrote %d pages into %s\n", count, dir)
			}
			return err
		},
	}
	cmd.Flags().StringVar(&dir, "dir", "", "directory for the pages")
	if err := cmd.MarkFlagDirname("dir"); err != nil {
		panic(err) // The flag is defined above.
	}
	return cmd
}

// writeAll writes the pages of a command and of all those below it, and returns how many.
func writeAll(root *cobra.Command, dir string) (int, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return 0, fmt.Errorf("create the directory for the pages: %w", err)
	}
	root.InitDefaultCompletionCmd()
	all := withThoseBelow(root)
	for _, command := range all {
		file := filepath.Join(dir, nameOf(command)+"."+section)
		if err := os.WriteFile(file, []byte(pageOf(command)), 0o644); err != nil {
			return 0, fmt.Errorf("write the page of %s: %w", command.CommandPath(), err)
		}
	}
	return len(all), nil
}

func withThoseBelow(command *cobra.Command) []*cobra.Command {
	all := []*cobra.Command{command}
	for _, below := range visible(command) {
		all = append(all, withThoseBelow(below)...)
	}
	return all
}

func visible(command *cobra.Command) []*cobra.Command {
	var found []*cobra.Command
	for _, below := range command.Commands() {
		if !below.Hidden && below.Name() != "help" {
			found = append(found, below)
		}
	}
	return found
}

// nameOf is the name of a page. A plugin of kubectl is shown under the name of the program, too.
func nameOf(command *cobra.Command) string {
	if command.HasParent() {
		return nameOf(command.Parent()) + "-" + command.Name()
	}
	return command.Name()
}

func pageOf(command *cobra.Command) string {
	p, name := &page{}, nameOf(command)
	p.macro("TH", strings.ToUpper(name), section, "", "Espalier "+command.Root().Version, "Espalier")
	p.text.WriteString(".ad l\n.nh\n") // Neither wide gaps nor split names.
	p.macro("SH", "NAME")
	p.lines(name + " - " + command.Short)
	p.macro("SH", "SYNOPSIS")
	p.verbatim(command.UseLine())
	p.macro("SH", "DESCRIPTION")
	p.prose(description(command))
	p.options(command)
	if command.Example != "" {
		p.macro("SH", "EXAMPLES")
		p.verbatim(command.Example)
	}
	p.exitStatus(command)
	if related := relatedTo(command); len(related) > 0 {
		p.macro("SH", "SEE ALSO")
		p.references(related)
	}
	return p.text.String()
}

func description(command *cobra.Command) string {
	if command.Long == "" {
		return command.Short + "."
	}
	return command.Long
}

// options describes the flags that help texts show.
func (p *page) options(command *cobra.Command) {
	heading := "OPTIONS"
	command.Flags().VisitAll(func(flag *pflag.Flag) {
		if flag.Hidden || flag.Name == "help" {
			return
		}
		if heading != "" {
			p.macro("SH", heading)
			heading = ""
		}
		term := "--" + flag.Name
		if flag.Shorthand != "" {
			term = "-" + flag.Shorthand + ", " + term
		}
		kind, usage := pflag.UnquoteUsage(flag)
		if !slices.Contains([]string{"", "false", "0", "0s", "[]", "<nil>"}, flag.DefValue) {
			usage += " (default " + flag.DefValue + ")"
		}
		p.entry(term, kind, usage)
	})
}

// exitStatus lists the exit codes of a command.
func (p *page) exitStatus(command *cobra.Command) {
	for i, outcomes := range cli.ExitCodesOf(command) {
		if i == 0 {
			p.macro("SH", "EXIT STATUS")
		}
		if outcomes.Flag != "" {
			p.macro("PP")
			p.lines("With --" + outcomes.Flag + ":")
		}
		outcomes.EachExitCode(func(code int, meaning string) { p.entry(fmt.Sprint(code), "", meaning) })
	}
}

// relatedTo names the pages of the commands above and below.
func relatedTo(command *cobra.Command) []string {
	var names []string
	if command.HasParent() {
		names = append(names, nameOf(command.Parent()))
	}
	for _, below := range visible(command) {
		names = append(names, nameOf(below))
	}
	return names
}
