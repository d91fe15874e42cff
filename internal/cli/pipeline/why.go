// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	pipelines "espalier.dev/api/pipelines/v1alpha1"
	"espalier.dev/internal/cli"
	"espalier.dev/internal/cli/connect"
	"espalier.dev/internal/cli/display"
	"espalier.dev/internal/cli/promotion"
	"espalier.dev/internal/explain"
	"espalier.dev/internal/pipeline"
)

func newWhy(env cli.Environment) *cobra.Command {
	s := &showing{env: env}
	s.print = func(printer display.Printer, p subject, format display.Format) error {
		a := explanationOf(p, env.Now(), s.access)
		switch format {
		case display.FormatText:
			return a.print(printer)
		case display.FormatName:
			if _, held := a.cause(); !held {
				return nil
			}
			return printer.Lines(promotion.ResourceName(p.Name))
		}
		return printer.Data(a.report(), format)
	}
	return s.complete(&cobra.Command{
		Use:   "why NAME",
		Short: "Explain why a revision does not progress",
		Long: `Explain why a revision does not progress in a pipeline. The first line names the
environment, the reason and the details; all environments, and what to do, follow. If a
reference into another namespace is not permitted, the command prints the missing
ReferenceGrant, ready to be applied there. -o name prints the name of the pipeline only
if a revision waits.

The command calls the same decision function as the controller. It changes nothing, and
its exit code is 0 whatever the answer is.`,
		Example: `  espalier pipeline why shop
  espalier pipeline why shop -o json`,
		Args: cobra.ExactArgs(1),
	}, display.FormatText, display.FormatJSON, display.FormatYAML, display.FormatName)
}

// explanation is why a pipeline is where it is.
type explanation struct {
	subject subject
	lines   []pipeline.Explanation
	// promoting is the attempt that is being carried out; empty if there is none.
	promoting string
	access    *connect.Access
}

func explanationOf(p subject, now time.Time, access *connect.Access) explanation {
	o := pipeline.Recall(p.Pipeline, now)
	return explanation{subject: p, lines: pipeline.Why(o), promoting: pipeline.Plan(o).Promoting, access: access}
}

func (a explanation) print(printer display.Printer) error {
	lines := []string{display.Clean(a.headline(printer)), ""}
	table := display.Table{Header: []string{"ENVIRONMENT", "SINCE", "UNTIL", "REASON", "MESSAGE"}}
	for _, line := range a.lines {
		table.Rows = append(table.Rows, []display.Cell{
			display.OrDash(display.Clean(line.Environment)), {Text: printer.Age(line.Since), Style: display.Faint}, untilCell(line.Until),
			{Text: orDash(string(line.Reason)), Style: reasonStyle(line.Reason)}, {Text: display.Clean(line.Message)},
		})
	}
	for _, line := range printer.Indented(2).Align(table) {
		lines = append(lines, "  "+line)
	}
	if next := a.next(); len(next) > 0 {
		lines = append(lines, "", "Next:")
		for _, command := range next {
			lines = append(lines, "  "+command)
		}
	}
	if cause, held := a.cause(); held && a.reference(cause) != "" {
		lines = append(lines, "", "See "+a.reference(cause))
	}
	return printer.Lines(append(lines, a.grantLines()...)...)
}

func (a explanation) reference(line pipeline.Explanation) string {
	return explain.ReferenceOfHold(a.subject.Pipeline, line.Environment, line.Reason)
}

// grantLines are the grants that are missing, for whoever owns the other namespaces: everything from the first line with three dashes on
// can be applied as it is.
func (a explanation) grantLines() []string {
	var lines []string
	for _, line := range a.lines {
		for _, manifest := range a.grants(line) {
			if len(lines) == 0 {
				lines = append(lines, "", "Whoever owns the other namespace permits the reference by kubectl apply:")
			}
			lines = append(lines, "---")
			lines = append(lines, strings.Split(strings.TrimSuffix(manifest, "\n"), "\n")...)
		}
	}
	return lines
}

func (a explanation) grants(line pipeline.Explanation) []string {
	if line.Reason != pipelines.HoldReferenceNotPermitted {
		return nil
	}
	var manifests []string
	for _, reference := range pipeline.MissingGrants(a.subject.Pipeline, line.Environment) {
		manifests = append(manifests, reference.Manifest())
	}
	return manifests
}

// cause is the first hold; ok is false if nothing is held.
func (a explanation) cause() (pipeline.Explanation, bool) {
	i := slices.IndexFunc(a.lines, func(e pipeline.Explanation) bool { return e.Reason != "" })
	if i < 0 {
		return pipeline.Explanation{}, false
	}
	return a.lines[i], true
}

func (a explanation) headline(printer display.Printer) string {
	name := "Pipeline/" + a.subject.Name
	cause, held := a.cause()
	if !held {
		return name + ": " + a.progress()
	}
	text := fmt.Sprintf("%s %s (for %s)", name, waits(cause), printer.Age(cause.Since))
	if !cause.Until.IsZero() {
		text += ", until " + cause.Until.UTC().Format(time.RFC3339)
	}
	return text
}

// waits says where the pipeline waits, and for what. It completes the sentence that begins with the pipeline's name.
func waits(cause pipeline.Explanation) string {
	where := "waits"
	if cause.Environment != "" {
		where = "waits at environment " + cause.Environment
	}
	return fmt.Sprintf("%s (%s): %s", where, cause.Reason, cause.Message)
}

// progress is the answer if nothing is held.
func (a explanation) progress() string {
	status := a.subject.Status
	switch {
	case len(a.lines) == 1:
		return a.lines[0].Message
	case a.promoting != "":
		return a.promoting
	case status.Run != nil && status.Run.CompletionTime != nil:
		return fmt.Sprintf("revision %s has reached all environments", status.Run.Revision)
	}
	return "not waiting for anything"
}

// next is what to do about the first hold: in words, and as commands where there are some.
func (a explanation) next() []string {
	cause, held := a.cause()
	if !held || cause.Remedy == "" {
		return nil
	}
	return append([]string{"# " + strings.ReplaceAll(cause.Remedy, "`", "")}, a.commands(cause)...)
}

// verbs are the commands that end holds.
var verbs = map[pipelines.HoldReason][]string{
	pipelines.HoldWaitingForApproval: {"approve", "reject"},
	pipelines.HoldSoaking:            {"promote"},
	pipelines.HoldOutsideWindow:      {"promote"},
	pipelines.HoldRetrying:           {"retry"},
	pipelines.HoldFailed:             {"retry"},
	pipelines.HoldAbandoned:          {"retry"},
	pipelines.HoldRejected:           {"retry"},
	pipelines.HoldRolledBack:         {"retry"},
	pipelines.HoldStalled:            {"retry"},
}

func (a explanation) commands(cause pipeline.Explanation) []string {
	p := a.subject
	var commands []string
	for _, verb := range verbs[cause.Reason] {
		commands = append(commands, a.access.Suggest(p.Namespace, verb, p.Name, cause.Environment))
	}
	switch cause.Reason {
	case pipelines.HoldHeld:
		for _, hold := range pipeline.ReadHolds(p.Annotations) {
			if hold.Environment == "" || hold.Environment == cause.Environment {
				commands = append(
					commands,
					a.access.Suggest(p.Namespace, slices.DeleteFunc([]string{"hold", p.Name, hold.Environment, "--release"}, isEmpty)...),
				)
			}
		}
	case pipelines.HoldTargetNotReadable, pipelines.HoldUnsettled, pipelines.HoldRollingOut:
		commands = append(commands, a.access.Suggest(p.Namespace, "pipeline", "status", p.Name, "-o", "wide"))
	}
	return commands
}

func isEmpty(text string) bool { return text == "" }

func untilCell(at time.Time) display.Cell {
	if at.IsZero() {
		return display.OrDash("")
	}
	return display.Cell{Text: at.UTC().Format(time.RFC3339)}
}

func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

func reasonStyle(reason pipelines.HoldReason) display.Style {
	if reason == "" {
		return display.Faint
	}
	return styleOf(reason)
}

// report is the answer for programs.
type report struct {
	Namespace string         `json:"namespace"`
	Pipeline  string         `json:"pipeline"`
	Lines     []reportedLine `json:"lines"`
}

type reportedLine struct {
	Environment string               `json:"environment,omitempty"`
	Reason      pipelines.HoldReason `json:"reason,omitempty"`
	Message     string               `json:"message"`
	Since       *metav1.Time         `json:"since,omitempty"`
	Until       *metav1.Time         `json:"until,omitempty"`
	Remedy      string               `json:"remedy,omitempty"`
	Next        []string             `json:"next,omitempty"`
	// Grants are manifests of the ReferenceGrants that are missing.
	Grants []string `json:"grants,omitempty"`
	// Reference is the place in the documentation that explains the reason.
	Reference string `json:"reference,omitempty"`
}

func (a explanation) report() report {
	r := report{Namespace: a.subject.Namespace, Pipeline: a.subject.Name, Lines: []reportedLine{}}
	for _, line := range a.lines {
		r.Lines = append(r.Lines, reportedLine{
			Environment: line.Environment, Reason: line.Reason, Message: line.Message, Since: timeOrNil(line.Since), Until: timeOrNil(line.Until),
			Remedy: line.Remedy, Next: a.commands(line), Grants: a.grants(line),
			Reference: a.reference(line),
		})
	}
	return r
}

func timeOrNil(at time.Time) *metav1.Time {
	if at.IsZero() {
		return nil
	}
	return &metav1.Time{Time: at}
}
