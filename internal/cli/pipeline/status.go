// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	pipelines "espalier.dev/api/pipelines/v1alpha1"
	"espalier.dev/internal/cli"
	"espalier.dev/internal/cli/display"
	"espalier.dev/internal/cli/promotion"
)

func newStatus(env cli.Environment) *cobra.Command {
	var tell bool
	cmd := &cobra.Command{
		Use:   "status NAME",
		Short: "Show the environments of a pipeline",
		Long: `Show the environments of a pipeline: how many targets are healthy, at which revision,
the state of the current or last promotion to the environment, and what it waits for.

-o tree, svg, mermaid and dot draw the pipeline as "espalier pipeline graph" does.`,
		Example: `  espalier pipeline status shop
  espalier pipeline status shop --exit-code >/dev/null
  espalier pipeline status shop -o json`,
		Args: cobra.ExactArgs(1),
	}
	cmd.Flags().BoolVar(&tell, "exit-code", false, "report the state of the pipeline as exit code")
	s := &showing{env: env}
	s.print = func(printer display.Printer, p subject, format display.Format) error {
		v := viewOf(p.Pipeline, env.Now())
		if err := printStatus(printer, v, format); err != nil {
			return err
		}
		if code := codeOf(v); tell && code != cli.ExitOK {
			return &cli.CodedError{Code: code}
		}
		return nil
	}
	formats := []display.Format{
		display.FormatText, display.FormatWide, display.FormatJSON, display.FormatYAML, display.FormatName, display.FormatTree,
	}
	return s.complete(cmd, append(formats, display.GraphFormats...)...)
}

func printStatus(printer display.Printer, v view, format display.Format) error {
	switch {
	case format.IsData():
		return printer.Data(v, format)
	case format == display.FormatName:
		return printer.Lines(promotion.ResourceName(v.Name))
	case format == display.FormatTree || format.IsGraph():
		return draw(printer, v, format)
	}
	lines := []string{headline(printer, v)}
	for _, hold := range v.Holds {
		lines = append(lines, display.Clean(fmt.Sprintf("%s: %s", hold.Reason, hold.Message)))
	}
	if err := printer.Lines(append(lines, "")...); err != nil {
		return err
	}
	if format == display.FormatWide {
		printer = printer.Exact()
	}
	table := display.Table{Header: []string{"ENVIRONMENT", "READY", "REVISION", "PROMOTION", "WAITING", "SINCE", "MESSAGE"}}
	for _, e := range v.Environments {
		table.Rows = append(table.Rows, statusRow(printer, e))
		if format == display.FormatWide {
			table.Rows = append(table.Rows, targetRows(printer, e)...)
		}
	}
	return printer.Table(table)
}

// headline says what goes through the pipeline.
func headline(printer display.Printer, v view) string {
	if v.Run == nil {
		return display.Clean(fmt.Sprintf("pipeline %s promotes %s; no revision in progress yet", v.Name, v.App))
	}
	return display.Clean(fmt.Sprintf("pipeline %s promotes %s; revision %s, run %d, started %s ago",
		v.Name, v.App, v.Run.Revision, v.Run.Number, printer.Age(v.Run.StartTime.Time)))
}

func statusRow(printer display.Printer, e environmentView) []display.Cell {
	row := []display.Cell{
		{Text: display.Clean(e.Name)}, {Text: fmt.Sprintf("%d/%d", e.ready(), len(e.Targets))},
		display.OrDash(display.Clean(strings.Join(e.revisions(), ", "))), promotionCell(e.Promotion),
	}
	if len(e.Holds) == 0 {
		since := "-"
		if e.Since != nil {
			since = printer.Age(e.Since.Time)
		}
		return append(row, display.OrDash(""), display.Cell{Text: since, Style: display.Faint}, display.Cell{})
	}
	hold := e.Holds[0]
	return append(row, display.Cell{Text: string(hold.Reason), Style: styleOf(hold.Reason)},
		display.Cell{Text: printer.Age(hold.Since.Time), Style: display.Faint}, display.Cell{Text: display.Clean(hold.Message)})
}

func promotionCell(p *pipelines.PromotionStatus) display.Cell {
	if p == nil {
		return display.OrDash("")
	}
	return display.Cell{Text: display.Clean(fmt.Sprintf("%s %s", p.Revision, p.State)), Style: styleOfState(p.State)}
}

// targetRows tell about each target, below the environment.
func targetRows(printer display.Printer, e environmentView) [][]display.Cell {
	var rows [][]display.Cell
	for i, t := range e.Targets {
		branch := "├─ "
		if i == len(e.Targets)-1 {
			branch = "└─ "
		}
		since := display.Cell{}
		if t.UnreadableSince != nil {
			since = display.Cell{Text: printer.Age(t.UnreadableSince.Time), Style: display.Faint}
		}
		rows = append(rows, []display.Cell{
			{
				Text: branch + display.Clean(nameOf(t)),
			}, {Text: stateOf(t)}, display.OrDash(display.Clean(t.Revision)), {}, {}, since, {Text: display.Clean(cmp.Or(t.Error, t.Message))},
		})
	}
	return rows
}

// Reasons by what they ask of people.
var (
	broken = []pipelines.HoldReason{
		pipelines.HoldFailed,
		pipelines.HoldAbandoned,
		pipelines.HoldRejected,
		pipelines.HoldRolledBack,
		pipelines.HoldStalled,
		pipelines.HoldInvalid,
	}
	needsSomebody = []pipelines.HoldReason{
		pipelines.HoldSuspended,
		pipelines.HoldWaitingForApproval,
		pipelines.HoldWaitingForMerge,
		pipelines.HoldNoStrategy,
		pipelines.HoldNoTargets,
		pipelines.HoldReferenceNotPermitted,
		pipelines.HoldNeverDeployed,
		pipelines.HoldHeld,
	}
)

// codeOf is the exit code that says how a pipeline stands.
func codeOf(v view) int {
	if v.Complete {
		return cli.ExitOK
	}
	codes := []int{cli.ExitTimeout}
	for _, hold := range v.allHolds() {
		switch {
		case slices.Contains(broken, hold.Reason):
			codes = append(codes, cli.ExitFailed)
		case slices.Contains(needsSomebody, hold.Reason):
			codes = append(codes, cli.ExitNeedsSomebody)
		}
	}
	return cli.Gravest(codes...)
}

func styleOf(reason pipelines.HoldReason) display.Style {
	if slices.Contains(broken, reason) {
		return display.Red
	}
	return display.Yellow
}

func styleOfState(state pipelines.PromotionState) display.Style {
	switch state {
	case pipelines.PromotionComplete, pipelines.PromotionSucceeded:
		return display.Green
	case pipelines.PromotionFailed,
		pipelines.PromotionAbandoned,
		pipelines.PromotionRejected,
		pipelines.PromotionRolledBack,
		pipelines.PromotionStalled:
		return display.Red
	}
	return display.Yellow
}
