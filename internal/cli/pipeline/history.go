// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/duration"

	pipelines "espalier.dev/api/pipelines/v1alpha1"
	"espalier.dev/internal/cli"
	"espalier.dev/internal/cli/display"
	"espalier.dev/internal/cli/promotion"
)

func newHistory(env cli.Environment) *cobra.Command {
	s := &showing{env: env}
	s.print = func(printer display.Printer, p subject, format display.Format) error {
		records, err := recordsOf(p)
		if err != nil {
			return &cli.Problem{
				Code: cli.ExitNotFound, What: err.Error(), Where: s.access.Where(p.Namespace),
				Next: []string{s.access.Suggest(p.Namespace, "pipeline", "status", p.Name)},
			}
		}
		if format.IsData() {
			return printer.Data(struct {
				Promotions []record `json:"promotions"`
			}{records}, format)
		}
		if format == display.FormatName {
			return printer.Lines(promotion.ResourceName(p.Name))
		}
		if len(records) == 0 {
			s.access.Tell("Nothing was promoted yet.")
			return nil
		}
		if format == display.FormatWide {
			printer = printer.Exact()
		}
		return printer.Table(historyTable(printer, records))
	}
	return s.complete(&cobra.Command{
		Use:   "history NAME [ENVIRONMENT]",
		Short: "List the promotions of a pipeline",
		Long: `List the promotions to the environments of a pipeline, or to one of them, newest first:
the current one, and the earlier ones that the Pipeline records, at most ten per
environment. -o wide shows times instead of ages.`,
		Example: `  espalier pipeline history shop
  espalier pipeline history shop production -o yaml`,
		Args: cobra.RangeArgs(1, 2),
	}, display.FormatTable, display.FormatWide, display.FormatJSON, display.FormatYAML, display.FormatName)
}

// record is a promotion with the environment that it belongs to.
type record struct {
	Environment               string `json:"environment"`
	pipelines.PromotionStatus `json:",inline"`
}

func recordsOf(p subject) ([]record, error) {
	records := []record{}
	known := len(p.arguments) == 0
	for _, environment := range p.Spec.Environments {
		if len(p.arguments) > 0 && p.arguments[0] != environment.Name {
			continue
		}
		known = true
		status := p.Status.Environments[environment.Name]
		if status.Promotion != nil {
			records = append(records, record{environment.Name, *status.Promotion})
		}
		for _, earlier := range status.History {
			records = append(records, record{environment.Name, earlier})
		}
	}
	if !known {
		return nil, fmt.Errorf("pipeline %s has no environment %s", p.Name, p.arguments[0])
	}
	slices.SortStableFunc(records, func(a, b record) int { return b.StartTime.Compare(a.StartTime.Time) })
	return records, nil
}

func historyTable(printer display.Printer, records []record) display.Table {
	table := display.Table{Header: []string{"ENVIRONMENT", "RUN", "REVISION", "STATE", "STARTED", "TOOK", "ATTEMPTS", "DECIDED", "LINK"}}
	for _, r := range records {
		table.Rows = append(table.Rows, []display.Cell{
			{Text: display.Clean(r.Environment)}, {Text: fmt.Sprint(r.Run)}, {Text: display.Clean(r.Revision)},
			{Text: string(r.State), Style: styleOfState(r.State)}, {Text: printer.Age(r.StartTime.Time), Style: display.Faint},
			{
				Text:  took(r),
				Style: display.Faint,
			}, {Text: fmt.Sprint(r.Attempts)}, display.OrDash(display.Clean(decided(r))), {Text: display.Clean(link(r))},
		})
	}
	return table
}

// took is how long it was from the need for the promotion until its arrival.
func took(r record) string {
	if r.CompletionTime == nil {
		return "-"
	}
	return duration.HumanDuration(r.CompletionTime.Sub(r.StartTime.Time))
}

func decided(r record) string {
	if r.Approval == nil {
		return ""
	}
	who := r.Approval.By
	if who == "" {
		who = string(r.Approval.Method)
	}
	return fmt.Sprintf("%s by %s", r.Approval.Decision, who)
}

func link(r record) string {
	if r.PullRequest == nil {
		return ""
	}
	return r.PullRequest.URL
}
