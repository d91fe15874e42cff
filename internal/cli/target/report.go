// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package target

import (
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"espalier.dev/internal/cli"
	"espalier.dev/internal/cli/check"
	"espalier.dev/internal/cli/display"
	"espalier.dev/internal/live"
)

// report is what is known about Targets.
type report struct {
	Targets []checked `json:"targets"`
}

// checked is what is known about one Target.
type checked struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Status is ok, or the gravest level of the findings.
	Status check.Level `json:"status"`
	// Reached says that the cluster has answered.
	Reached bool         `json:"reached"`
	Version string       `json:"version,omitempty"`
	Rights  check.Rights `json:"rights,omitempty"`
	// Expires is when Expiring does: a certificate or a token.
	Expires  *metav1.Time `json:"expires,omitempty"`
	Expiring string       `json:"expiring,omitempty"`
	// ServiceAccount is the one that the Target acts as, if it does.
	ServiceAccount string    `json:"serviceAccount,omitempty"`
	Findings       []finding `json:"findings,omitempty"`
	// ExitCode is the one that a check of this Target alone ends with.
	ExitCode int `json:"exitCode"`
}

type finding struct {
	Level   check.Level `json:"level"`
	Message string      `json:"message"`
	Next    []string    `json:"next,omitempty"`
}

// fine is the status of a Target about which nothing was found.
const fine check.Level = "ok"

// gravity orders levels: the gravest last.
var gravity = map[check.Level]int{fine: 0, check.Unknown: 1, check.Doubtful: 2, check.Wrong: 3}

func newReport(results []check.TargetResult) *report {
	r := &report{Targets: []checked{}}
	for _, result := range results {
		r.Targets = append(r.Targets, newChecked(result))
	}
	return r
}

func newChecked(result check.TargetResult) checked {
	reach := result.Reach
	c := checked{
		Namespace: result.Target.Namespace, Name: result.Target.Name, Status: fine, Reached: result.Err == nil,
		Version: display.Clean(reach.Version), Rights: result.Rights, Expiring: reach.Expiring, ServiceAccount: reach.Account,
	}
	if !reach.Expires.IsZero() {
		end := metav1.NewTime(reach.Expires.UTC())
		c.Expires = &end
	}
	for _, f := range result.Findings {
		c.Findings = append(c.Findings, finding{Level: f.Level, Message: f.Message, Next: f.Next})
		if gravity[f.Level] > gravity[c.Status] {
			c.Status = f.Level
		}
	}
	c.ExitCode = codeOf(c.Status, result.Err)
	return c
}

func codeOf(status check.Level, err error) int {
	switch {
	case status == check.Wrong:
		return cli.ExitNeedsSomebody
	case err == nil || errors.Is(err, live.ErrTokenKept):
		return cli.ExitOK
	case apierrors.IsForbidden(err) || status == check.Unknown:
		return cli.ExitNotFound
	}
	return cli.ExitTimeout
}

func (r *report) code() int {
	var codes []int
	for _, c := range r.Targets {
		codes = append(codes, c.ExitCode)
	}
	return cli.Gravest(codes...)
}

var styles = map[check.Level]display.Style{
	fine: display.Green, check.Doubtful: display.Yellow, check.Unknown: display.Yellow, check.Wrong: display.Red,
}

func (r *report) table(namespaces bool) display.Table {
	table := display.Table{Header: []string{"NAME", "STATUS", "VERSION", "RIGHTS", "EXPIRES", "MESSAGE"}}
	if namespaces {
		table.Header = append([]string{"NAMESPACE"}, table.Header...)
	}
	for _, c := range r.Targets {
		expires, message := "", ""
		if c.Expires != nil {
			expires = c.Expires.Format(time.RFC3339) + " (" + c.Expiring + ")"
		}
		for _, f := range c.Findings {
			if f.Level == c.Status {
				message = display.Summary(f.Message)
				break
			}
		}
		row := []display.Cell{
			{Text: c.Name},
			{Text: string(c.Status), Style: styles[c.Status]},
			display.OrDash(c.Version),
			display.OrDash(string(c.Rights)),
			display.OrDash(expires),
			{Text: message},
		}
		if namespaces {
			row = append([]display.Cell{{Text: c.Namespace}}, row...)
		}
		table.Rows = append(table.Rows, row)
	}
	return table
}

// advice says what to do about each finding. It repeats the message if the table has another one of that Target.
func (r *report) advice() []string {
	var lines []string
	for _, c := range r.Targets {
		for i, f := range c.Findings {
			if i > 0 {
				lines = append(lines, "  "+display.Summary(f.Message))
			} else {
				lines = append(lines, "", "Next for "+c.Name+":")
			}
			for _, next := range f.Next {
				lines = append(lines, "  "+display.Clean(next))
			}
		}
	}
	return lines
}

// names are those of the Targets in the form that kubectl takes.
func (r *report) names() []string {
	var names []string
	for _, t := range r.Targets {
		names = append(names, display.ResourceName("Target", t.Name))
	}
	return names
}
