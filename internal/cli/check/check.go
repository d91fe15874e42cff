// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package check is the command "espalier check": it says before and after an installation what is wrong with it.
package check

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"espalier.dev/internal/cli"
	"espalier.dev/internal/cli/connect"
	"espalier.dev/internal/cli/display"
)

type options struct {
	env     cli.Environment
	access  *connect.Access
	format  *display.FormatFlag
	subject Subject
}

// New returns the command.
func New(env cli.Environment) *cobra.Command {
	opts := options{env: env}
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Find problems with Espalier in a cluster",
		Long: `Find problems with Espalier in a cluster: the version of the API server, the CRDs, the
rights of the controllers, whether they run, other controllers that work on the same
objects, installations and pipelines that wait for a person, and Targets whose cluster
does not answer or whose credential has expired or lacks rights. With --pre, before the
installation: whether the cluster meets the requirements, and whether you may install.

Each finding names the object, the problem and the fix. The command changes nothing. It
reads the Secrets of Targets with your rights, and connects to their clusters from this
machine; --targets=false skips that. What you may not read is listed as unknown. The exit
code is 4 if there is an error, and 0 if there are only warnings and unknowns.

` + connect.FlagsHelp,
		Example: `  espalier check --pre
  espalier check -A
  espalier check -n shop --targets=false
  espalier check -o json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return run(cmd.Context(), opts) },
	}
	flags := cmd.Flags()
	flags.BoolVar(&opts.subject.Before, "pre", false, "check a cluster before the installation")
	flags.BoolVar(&opts.subject.Targets, "targets", true, "connect to the clusters of Targets")
	flags.DurationVar(&opts.subject.TargetTimeout, "target-timeout", targetTimeout, "how long the cluster of one Target may take to answer")
	AddSystemFlags(cmd, &opts.subject)
	opts.format = display.AddFormatFlag(cmd, display.FormatText, display.FormatJSON, display.FormatYAML)
	opts.access = connect.AddFlags(cmd, env)
	opts.access.AddAllNamespaces()
	return cmd
}

// AddSystemFlags adds the flags that say where the controllers run.
func AddSystemFlags(cmd *cobra.Command, subject *Subject) {
	AddSystemNamespaceFlag(cmd, &subject.System)
	cmd.Flags().StringVar(&subject.Account, "service-account", "espalier-controller", "service account of the controllers")
}

// AddSystemNamespaceFlag adds the flag that names the namespace of the controllers.
func AddSystemNamespaceFlag(cmd *cobra.Command, namespace *string) {
	cmd.Flags().StringVar(namespace, "system-namespace", "espalier-system", "namespace of the controllers")
}

func run(ctx context.Context, opts options) error {
	format, err := opts.format.Get()
	if err != nil {
		return err
	}
	if opts.subject.TargetTimeout <= 0 {
		return &cli.Problem{
			Code: cli.ExitError, What: fmt.Sprintf("--target-timeout is %s: a cluster needs some time to answer", opts.subject.TargetTimeout),
			Next: []string{"use a duration such as 10s, or skip the clusters of Targets with --targets=false"},
		}
	}
	subject, err := Connect(opts.access, opts.env, opts.subject)
	if err != nil {
		return err
	}
	report, err := Examine(ctx, subject)
	if err != nil {
		return err
	}
	printer := display.To(opts.env, opts.env.Out)
	if format == display.FormatText {
		err = printer.Lines(report.lines()...)
	} else {
		err = printer.Data(report, format)
	}
	if err == nil && report.Has(Wrong) {
		return &cli.CodedError{Code: cli.ExitNeedsSomebody}
	}
	return err
}

// Level says how bad a finding is.
type Level string

// Levels.
const (
	// Wrong is what keeps Espalier from working.
	Wrong Level = "error"
	// Doubtful is what should be looked at.
	Doubtful Level = "warning"
	// Unknown is what could not be found out.
	Unknown Level = "unknown"
)

// Finding is one thing that is not as it should be.
type Finding struct {
	Level Level `json:"level"`
	// Check is the one that has found it.
	Check string `json:"check"`
	// Object is what it is about, such as Deployment espalier-system/espalier-controller.
	Object string `json:"object"`
	// Message says what is wrong with it.
	Message string `json:"message"`
	// Next is what to do: commands, or advice.
	Next []string `json:"next,omitempty"`
}

// Report is what was found.
type Report struct {
	// Client is the version of this command, Server that of the API server.
	Client string `json:"client"`
	Server string `json:"server"`
	// Checks are all that were made, in their order.
	Checks   []string  `json:"checks"`
	Findings []Finding `json:"findings"`
}

// Has reports whether there is a finding of a level.
func (r *Report) Has(level Level) bool {
	for _, finding := range r.Findings {
		if finding.Level == level {
			return true
		}
	}
	return false
}

func (r *Report) lines() []string {
	var lines []string
	for _, check := range r.Checks {
		before := len(lines)
		for _, finding := range r.Findings {
			if finding.Check == check {
				lines = append(lines, finding.lines()...)
			}
		}
		if len(lines) == before {
			lines = append(lines, "ok       "+check)
		}
	}
	count := map[Level]int{}
	for _, finding := range r.Findings {
		count[finding.Level]++
	}
	return append(lines, "", fmt.Sprintf("Errors: %d, warnings: %d, unknown: %d", count[Wrong], count[Doubtful], count[Unknown]))
}

func (f Finding) lines() []string {
	lines := []string{fmt.Sprintf("%-8s %s: %s: %s", f.Level, f.Check, display.Clean(f.Object), display.Summary(f.Message))}
	for i, next := range f.Next {
		title := "         next: "
		if i > 0 {
			title = "               "
		}
		lines = append(lines, title+display.Clean(next))
	}
	return lines
}
