// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// ExitCodes says what the exit codes of some commands mean. Any code that is not named does not occur.
type ExitCodes struct {
	// Commands are the commands without the name of the program, each with the flag that the meanings depend on, if any. A group stands for
	// all commands below it. Without commands, the meanings apply to all others.
	Commands []string
	// Meanings are empty for a command whose codes are those of another program.
	Meanings map[int]string
}

// Meanings that many commands share.
const (
	misused  = "wrong usage, or another error"
	notFound = "not found, or not permitted"
	byCtrlC  = "Ctrl-C"
)

// AllExitCodes lists the exit codes of all commands. Help texts, manual pages and docs/reference/commands.md show them.
func AllExitCodes() []ExitCodes {
	return append(followed(), separate()...)
}

// Outcomes are the meanings of the exit codes of one command.
type Outcomes struct {
	// Flag is the flag that they depend on; it may be empty.
	Flag     string
	Meanings map[int]string
}

// ExitCodesOf returns what the exit codes of a command mean: first without flags, then with each flag that changes them. It returns nothing
// for the program itself, for groups, and for a command whose codes are those of another program.
func ExitCodesOf(command *cobra.Command) []Outcomes {
	path, below := strings.CutPrefix(command.CommandPath(), command.Root().CommandPath()+" ")
	if !below || isGroup(command) {
		return nil
	}
	var others map[int]string
	named := map[string]map[int]string{}
	var withFlags []Outcomes
	for _, e := range AllExitCodes() {
		if len(e.Commands) == 0 {
			others = e.Meanings
		}
		for _, name := range e.Commands {
			if flag, depends := strings.CutPrefix(name, path+" --"); depends {
				withFlags = append(withFlags, Outcomes{Flag: flag, Meanings: e.Meanings})
			}
			named[name] = e.Meanings
		}
	}
	for words := strings.Fields(path); len(words) > 0; words = words[:len(words)-1] {
		if own, found := named[strings.Join(words, " ")]; found {
			others = own
			break
		}
	}
	if len(others) == 0 {
		return nil
	}
	return append([]Outcomes{{Meanings: others}}, withFlags...)
}

// isGroup reports whether a command only holds others. It then has no flags of its own.
func isGroup(command *cobra.Command) bool {
	flags := 0
	command.LocalFlags().VisitAll(func(flag *pflag.Flag) {
		if flag.Name != "help" {
			flags++
		}
	})
	return command.HasSubCommands() && flags == 0
}

// EachExitCode calls a function for each code that has a meaning, in ascending order.
func (o Outcomes) EachExitCode(do func(code int, meaning string)) {
	for _, code := range slices.Sorted(maps.Keys(o.Meanings)) {
		do(code, strings.ReplaceAll(o.Meanings[code], "`", ""))
	}
}

// exitCodesHelp is the part of a help text that explains the exit codes of a command; empty if it has none of its own.
func exitCodesHelp(command *cobra.Command) string {
	var text strings.Builder
	for _, outcomes := range ExitCodesOf(command) {
		if text.WriteString("\nExit codes"); outcomes.Flag != "" {
			text.WriteString(" with --" + outcomes.Flag)
		}
		text.WriteString(":\n")
		outcomes.EachExitCode(func(code int, meaning string) { fmt.Fprintf(&text, "  %-3d   %s\n", code, meaning) })
	}
	return text.String()
}

// followed are the codes of commands that connect to a cluster.
func followed() []ExitCodes {
	return []ExitCodes{
		{
			Commands: []string{"reconcile", "interrupt", "delete", "rollback", "resume --wait"},
			Meanings: map[int]string{
				ExitOK: "requested; with `--wait`: reached", ExitError: misused, ExitFailed: "the job or the deletion failed",
				ExitTimeout: "timed out before it finished", ExitNeedsSomebody: "needs action by a user", ExitNotFound: notFound,
				ExitDetached: byCtrlC + "; the job continues",
			},
		},
		{
			Commands: []string{"wait"},
			Meanings: map[int]string{
				ExitOK: "reached", ExitError: misused, ExitFailed: "the job, the deletion or a promotion failed", ExitTimeout: "timed out before",
				ExitNeedsSomebody: "needs action by a user", ExitNotFound: notFound, ExitDetached: byCtrlC + "; what it waits for continues",
			},
		},
		{
			Commands: []string{"approve", "reject", "promote", "retry"},
			Meanings: map[int]string{
				ExitOK: "requested; with `--wait`: accepted", ExitError: misused, ExitFailed: "the controllers rejected the decision",
				ExitTimeout: "timed out before they answered", ExitNotFound: notFound, ExitDetached: byCtrlC + "; the request remains",
			},
		},
		{
			Commands: []string{"pipeline status --exit-code"},
			Meanings: map[int]string{
				ExitOK: "the revision has reached all environments", ExitError: misused, ExitFailed: "a promotion has failed",
				ExitTimeout: "it is on its way", ExitNeedsSomebody: "needs action by a user", ExitNotFound: notFound, ExitDetached: byCtrlC,
			},
		},
		{
			Commands: []string{"target check"},
			Meanings: map[int]string{
				ExitOK: "all clusters answered", ExitError: misused, ExitTimeout: "a cluster did not answer",
				ExitNeedsSomebody: "a user must change a Target", ExitNotFound: notFound, ExitDetached: byCtrlC,
			},
		},
		{
			Commands: []string{"check"},
			Meanings: map[int]string{
				ExitOK: "no finding is an error", ExitError: misused, ExitNeedsSomebody: "a finding is an error", ExitNotFound: notFound,
				ExitDetached: byCtrlC,
			},
		},
		{
			Commands: []string{"migrate"},
			Meanings: map[int]string{
				ExitOK: "done; with `--dry-run`: possible", ExitError: misused, ExitTimeout: "timed out waiting for jobs or pods",
				ExitNeedsSomebody: "findings block it", ExitNotFound: "rights are missing, or there is nothing to take over",
				ExitDetached: byCtrlC + "; run it again to continue",
			},
		},
		{
			Commands: []string{"deployer conformance"},
			Meanings: map[int]string{
				ExitOK: "no rule is broken", ExitError: misused, ExitFailed: "a rule is broken", ExitNotFound: notFound, ExitDetached: byCtrlC,
			},
		},
		{
			Commands: []string{"diff"},
			Meanings: map[int]string{
				ExitOK: "a job would change nothing", ExitError: "a job would change something", 2: misused, ExitNotFound: notFound,
				ExitDetached: byCtrlC,
			},
		},
		{
			Commands: []string{"trace"},
			Meanings: map[int]string{
				ExitOK: "an installation or a pipeline manages the object", ExitError: misused,
				ExitNotFound: notFound + ", or nothing manages the object", ExitDetached: byCtrlC,
			},
		},
		{
			Commands: []string{"watch"},
			Meanings: map[int]string{ExitOK: "`q` or Ctrl-C", ExitError: misused, ExitNotFound: notFound},
		},
		{Meanings: map[int]string{ExitOK: "success", ExitError: misused, ExitNotFound: notFound, ExitDetached: byCtrlC}},
	}
}

// separate are the codes of commands that work without a cluster, or serve until they are stopped.
func separate() []ExitCodes {
	return []ExitCodes{
		{
			Commands: []string{"render"},
			Meanings: map[int]string{
				ExitOK: "all was rendered", ExitError: misused, 2: "an installation waits for exports; all others were rendered",
				ExitDetached: byCtrlC,
			},
		},
		{
			Commands: []string{"blueprint validate"},
			Meanings: map[int]string{ExitOK: "no errors", ExitError: "errors, with `--strict` also warnings; or wrong usage"},
		},
		{
			Commands: []string{"blueprint pull", "blueprint push", "component"},
			Meanings: map[int]string{ExitOK: "success", ExitError: misused, ExitDetached: byCtrlC},
		},
		{
			Commands: []string{"up"},
			Meanings: map[int]string{ExitOK: "stopped with Ctrl-C", ExitError: misused},
		},
		{
			Commands: []string{"ui"},
			Meanings: map[int]string{ExitOK: "stopped with Ctrl-C", ExitError: misused, ExitNotFound: notFound},
		},
		{
			Commands: []string{"completion", "explain", "man", "version"},
			Meanings: map[int]string{ExitOK: "success", ExitError: misused},
		},
		{Commands: []string{"kubectl"}},
	}
}
