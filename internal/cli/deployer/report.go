// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package deployer

import (
	"fmt"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/cli"
	"espalier.dev/internal/cli/display"
)

// outcome is what has become of a rule.
type outcome string

const (
	kept     outcome = "Kept"
	broken   outcome = "Broken"
	notTried outcome = "NotTried"
)

// report is what the command prints for programs.
type report struct {
	Type      lsv1alpha1.DeployItemType `json:"type"`
	Namespace string                    `json:"namespace"`
	Rules     []result                  `json:"rules"`
}

// result is the outcome for one rule.
type result struct {
	Name    string  `json:"name"`
	Rule    string  `json:"rule"`
	Outcome outcome `json:"outcome"`
	// Message says what was seen instead, or what is missing in order to try it.
	Message string `json:"message,omitempty"`
}

var styles = map[outcome]display.Style{kept: display.Green, broken: display.Red, notTried: display.Faint}

func show(env cli.Environment, format display.Format, all report) error {
	printer := display.To(env, env.Out)
	if format != display.FormatTable {
		return printer.Data(all, format)
	}
	table := display.Table{Header: []string{"RULE", "OUTCOME", "MESSAGE"}}
	for _, r := range all.Rules {
		message := r.Message
		if r.Outcome == kept {
			message = r.Rule
		}
		table.Rows = append(table.Rows, []display.Cell{{Text: r.Name}, {Text: string(r.Outcome), Style: styles[r.Outcome]}, {Text: message}})
	}
	return printer.Table(table)
}

// verdict is an error if a rule is broken, or if none was tried.
func verdict(itemType lsv1alpha1.DeployItemType, results []result) error {
	count := map[outcome]int{}
	for _, r := range results {
		count[r.Outcome]++
	}
	switch {
	case count[broken] > 0:
		return &cli.CodedError{
			Code: cli.ExitFailed,
			Err:  fmt.Errorf("the deployer of %s breaks %d of %d rules that were tried", itemType, count[broken], count[broken]+count[kept]),
		}
	case count[kept] == 0:
		return fmt.Errorf("no rule was tried: see what each needs, and the flags --rule and --skip")
	default:
		return nil
	}
}
