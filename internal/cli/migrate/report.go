// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"espalier.dev/internal/cli"
	"espalier.dev/internal/cli/check"
	"espalier.dev/internal/cli/display"
)

// Note is the level of what is worth knowing, and needs no action.
const Note check.Level = "note"

// Finding is something that stands in the way of a take-over, or is different after it.
type Finding struct {
	Level check.Level `json:"level"`
	// Code is what --ignore takes.
	Code string `json:"code"`
	// Check is the one that has found it.
	Check   string `json:"check"`
	Object  string `json:"object"`
	Message string `json:"message"`
	// Next is what to do: commands, or advice.
	Next []string `json:"next,omitempty"`
	// Reference is the place in the documentation that explains the code.
	Reference string `json:"reference"`
	// Ignored says that it does not block, because the user wants it so.
	Ignored bool `json:"ignored,omitempty"`
}

// Definition is a definition in the cluster.
type Definition struct {
	Name     string   `json:"name"`
	Versions []string `json:"versions"`
	Stored   []string `json:"storedVersions"`
	// Objects counts those of the kind; absent if they were not looked at.
	Objects *int `json:"objects,omitempty"`
	// Espalier reports whether the definition is one of Espalier.
	Espalier bool `json:"espalier"`
}

// Controller is a Deployment of the other controllers.
type Controller struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Image     string `json:"image"`
	Replicas  int32  `json:"replicas"`
}

// Step is something that was done.
type Step struct {
	Object string `json:"object"`
	// Done says what; "nothing to do" if it was done before.
	Done string `json:"done"`
}

// Report is what was found and done.
type Report struct {
	System string `json:"system"`
	// Client is the version of this command, Server that of the API server.
	Client string `json:"client"`
	Server string `json:"server"`
	// Back says that it is about the way back.
	Back        bool         `json:"back,omitempty"`
	Checks      []string     `json:"checks"`
	Controllers []Controller `json:"controllers"`
	Definitions []Definition `json:"definitions"`
	Findings    []Finding    `json:"findings"`
	// Steps are empty if nothing was changed.
	Steps []Step `json:"steps,omitempty"`
	// Next says how to continue, Remains what going back has not undone.
	Next    []string `json:"next,omitempty"`
	Remains []string `json:"remains,omitempty"`
}

// errors are the findings that block.
func (r *Report) errors() []Finding {
	return slices.DeleteFunc(slices.Clone(r.Findings), func(f Finding) bool { return f.Level != check.Wrong || f.Ignored })
}

// presentation shows a report: findings and what was done on standard output, everything else on standard error.
type presentation struct {
	opts    options
	printer display.Printer
	format  display.Format
}

// checked ends a command that only checks.
func (p presentation) checked(report *Report) error {
	if err := p.all(report); err != nil {
		return err
	}
	if len(report.errors()) > 0 {
		return &cli.CodedError{Code: cli.ExitNeedsSomebody}
	}
	return nil
}

// refused ends a command that may not start.
func (p presentation) refused(report *Report, blocked []Finding) error {
	if err := p.all(report); err != nil {
		return err
	}
	codes := map[string]bool{}
	for _, finding := range blocked {
		codes[finding.Code] = true
	}
	return &cli.Problem{
		Code: cli.ExitNeedsSomebody, What: fmt.Sprintf("%d findings block the migration, so nothing was changed", len(blocked)),
		Where: p.opts.access.Where(""),
		Next: []string{
			"fix what is listed, then run the command again",
			"or ignore these findings: --ignore " + strings.Join(slices.Sorted(maps.Keys(codes)), ","),
		},
	}
}

// all prints a report as a whole.
func (p presentation) all(report *Report) error {
	if p.format != display.FormatText {
		return p.printer.Data(report, p.format)
	}
	return p.printer.Lines(report.lines()...)
}

// findings prints what to know before anything is changed. Programs get one document, at the end.
func (p presentation) findings(report *Report) error {
	if p.format != display.FormatText {
		return nil
	}
	return p.printer.Lines(append(report.lines(), "")...)
}

// done ends a command that has changed something.
func (p presentation) done(report *Report) error {
	if p.format != display.FormatText {
		return p.printer.Data(report, p.format)
	}
	var lines []string
	for _, step := range report.Steps {
		lines = append(lines, fmt.Sprintf("%s: %s", display.Clean(step.Object), step.Done))
	}
	for i, next := range report.Next {
		if i == 0 {
			lines = append(lines, "", "Next:")
		}
		lines = append(lines, "  "+display.Clean(next))
	}
	for i, rest := range report.Remains {
		if i == 0 {
			lines = append(lines, "", "Not undone:")
		}
		lines = append(lines, "  "+rest)
	}
	return p.printer.Lines(lines...)
}

// lines groups the findings by check.
func (r *Report) lines() []string {
	lines := []string{fmt.Sprintf("%s, Kubernetes %s, espalier %s", r.System, r.Server, r.Client)}
	for _, c := range r.Controllers {
		lines = append(lines, fmt.Sprintf("  Deployment %s/%s, %d replicas, %s", c.Namespace, c.Name, c.Replicas, display.Clean(c.Image)))
	}
	for _, d := range r.Definitions {
		lines = append(lines, "  "+d.line())
	}
	explained := map[string]bool{}
	for _, check := range r.Checks {
		lines = append(lines, r.group(check, explained)...)
	}
	count := map[check.Level]int{}
	ignored := 0
	for _, finding := range r.Findings {
		if finding.Ignored {
			ignored++
			continue
		}
		count[finding.Level]++
	}
	return append(lines, "", fmt.Sprintf("Errors: %d, warnings: %d, notes: %d, ignored: %d",
		count[check.Wrong], count[check.Doubtful], count[Note], ignored))
}

// group shows the findings of a check. The first finding with a code names the place that explains it.
func (r *Report) group(name string, explained map[string]bool) []string {
	lines := []string{"", name}
	for _, finding := range r.Findings {
		if finding.Check != name {
			continue
		}
		lines = append(lines, finding.lines()...)
		if !explained[finding.Code] {
			lines = append(lines, "           see:  "+finding.Reference)
		}
		explained[finding.Code] = true
	}
	if len(lines) == 2 {
		return []string{"", name + ": ok"}
	}
	return lines
}

func (d Definition) line() string {
	whose := "not of Espalier"
	if d.Espalier {
		whose = "of Espalier"
	}
	text := fmt.Sprintf("%s, %s, versions %s, stored %s", d.Name, whose, strings.Join(d.Versions, " "), strings.Join(d.Stored, " "))
	if d.Objects != nil {
		text += fmt.Sprintf(", %d objects", *d.Objects)
	}
	return text
}

func (f Finding) lines() []string {
	level := string(f.Level)
	if f.Ignored {
		level = "ignored"
	}
	lines := []string{fmt.Sprintf("  %-8s %s: %s (%s)", level, display.Clean(f.Object), display.Summary(f.Message), f.Code)}
	for i, next := range f.Next {
		title := "           next: "
		if i > 0 {
			title = "                 "
		}
		lines = append(lines, title+display.Clean(next))
	}
	return lines
}
