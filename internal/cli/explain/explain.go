// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package explain is the command "espalier explain", which says what a code or a reason means. It works without a cluster.
package explain

import (
	"fmt"
	"path"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"espalier.dev/internal/cli"
	"espalier.dev/internal/cli/connect"
	"espalier.dev/internal/cli/display"
	"espalier.dev/internal/explain"
	"espalier.dev/internal/version"
)

// meaning is what a word means in one part of the product.
type meaning struct {
	Word      string `json:"word"`
	Area      string `json:"area"`
	Meaning   string `json:"meaning"`
	Advice    string `json:"advice,omitempty"`
	Reference string `json:"reference"`
}

// report is what the command prints for programs.
type report struct {
	Meanings []meaning `json:"meanings"`
}

// New returns the command.
func New(env cli.Environment) *cobra.Command {
	var format *display.FormatFlag
	cmd := &cobra.Command{
		Use:   "explain CODE|REASON",
		Short: "Explain an error code or a reason of a condition, without a cluster",
		Long: `Print what an error code or a reason means, and what to do about it: the codes and reasons
of errors, of conditions, and of what pipelines wait for. Upper and lower case are the same.
If several parts of Espalier use the word, the command prints each meaning.

To find out why an installation is not done, use espalier why.`,
		Example: `  espalier explain ImportNotFound
  espalier explain ERR_TIMEOUT
  espalier explain Suspended -o json`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: connect.CompleteOne(completeWords),
		RunE: func(cmd *cobra.Command, args []string) error {
			chosen, err := format.Get()
			if err != nil {
				return err
			}
			meanings := meaningsOf(args[0])
			if len(meanings) == 0 {
				return unknown(cmd.Root().CommandPath(), args[0])
			}
			printer := display.To(env, env.Out)
			if chosen.IsData() {
				return printer.Data(report{meanings}, chosen)
			}
			return printer.Lines(lines(meanings)...)
		},
	}
	format = display.AddFormatFlag(cmd, display.FormatText, display.FormatJSON, display.FormatYAML)
	return cmd
}

// completeWords offers each word with its first meaning.
func completeWords(_ *cobra.Command, _ []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
	var choices []cobra.Completion
	last := ""
	for _, word := range explain.Words() {
		if word.Is != last && strings.HasPrefix(strings.ToLower(word.Is), strings.ToLower(begun)) {
			choices = append(choices, cobra.CompletionWithDesc(word.Is, plain(word.Means)))
		}
		last = word.Is
	}
	return choices, cobra.ShellCompDirectiveNoFileComp
}

func meaningsOf(name string) []meaning {
	var found []meaning
	for _, word := range explain.Words() {
		if strings.EqualFold(word.Is, name) {
			found = append(found, meaning{
				Word: word.Is, Area: plain(word.Area), Meaning: plain(word.Means), Advice: plain(word.Do), Reference: word.Reference(),
			})
		}
	}
	return found
}

func lines(meanings []meaning) []string {
	var all []string
	for i, m := range meanings {
		if i > 0 {
			all = append(all, "")
		}
		all = append(all, fmt.Sprintf("%s (%s)", m.Word, m.Area), "  "+m.Meaning)
		if m.Advice != "" {
			all = append(all, "  What to do: "+m.Advice)
		}
		all = append(all, "  See "+m.Reference)
	}
	return all
}

func unknown(program, name string) error {
	problem := &cli.Problem{
		Code: cli.ExitError, See: version.Page(referenceFolder + "/errors.md"),
		What: fmt.Sprintf("%q is neither an error code nor a reason of Espalier; third-party deployers also use words of their own", name),
	}
	for _, near := range explain.NearestWords(name) {
		problem.Next = append(problem.Next, program+" explain "+near)
	}
	return problem
}

// referenceFolder contains the pages that links of the texts are relative to.
const referenceFolder = "docs/reference"

var link = regexp.MustCompile(`\[([^\]]+)\]\(([^)]+)\)`)

// plain turns Markdown of the reference into plain text: links into addresses, and code into quoted text.
func plain(markdown string) string {
	text := link.ReplaceAllStringFunc(markdown, func(found string) string {
		parts := link.FindStringSubmatch(found)
		if strings.HasPrefix(parts[2], "#") {
			return parts[1]
		}
		return parts[1] + " (" + version.Page(path.Join(referenceFolder, parts[2])) + ")"
	})
	return strings.ReplaceAll(text, "`", `"`)
}
