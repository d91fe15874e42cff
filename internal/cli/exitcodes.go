// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package cli

import "strings"

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

// AllExitCodes lists the exit codes of all commands. docs/reference/commands.md shows them.
func AllExitCodes() []ExitCodes {
	return append(followed(), separate()...)
}

// ExitCodesOf returns the meanings of the exit codes of a command, which is named without the program.
func ExitCodesOf(command string) map[int]string {
	others := map[int]string{}
	meanings := map[string]map[int]string{}
	for _, e := range AllExitCodes() {
		if len(e.Commands) == 0 {
			others = e.Meanings
		}
		for _, name := range e.Commands {
			meanings[name] = e.Meanings
		}
	}
	for words := strings.Fields(command); len(words) > 0; words = words[:len(words)-1] {
		if own, found := meanings[strings.Join(words, " ")]; found {
			return own
		}
	}
	return others
}

// followed are the codes of commands that connect to a cluster.
func followed() []ExitCodes {
	return []ExitCodes{
		{
			Commands: []string{"reconcile", "wait", "interrupt", "delete", "rollback", "resume --wait"},
			Meanings: map[int]string{
				ExitOK: "requested; with `--wait` and for `wait`: reached", ExitError: misused, ExitFailed: "the job or the deletion failed",
				ExitTimeout: "timed out before it finished", ExitNeedsSomebody: "needs action by a user", ExitNotFound: notFound,
				ExitDetached: byCtrlC + "; the job continues",
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
			Commands: []string{"up", "ui"},
			Meanings: map[int]string{ExitOK: "stopped with Ctrl-C", ExitError: misused},
		},
		{
			Commands: []string{"completion", "man", "version"},
			Meanings: map[int]string{ExitOK: "success", ExitError: misused},
		},
		{Commands: []string{"kubectl"}},
	}
}
