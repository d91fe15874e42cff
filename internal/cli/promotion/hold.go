// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package promotion

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"espalier.dev/internal/cli"
	"espalier.dev/internal/cli/connect"
	"espalier.dev/internal/cli/display"
	"espalier.dev/internal/steer"
)

type holdOptions struct {
	env     cli.Environment
	access  *connect.Access
	format  *display.FormatFlag
	message string
	release bool
}

func newHold(env cli.Environment) *cobra.Command {
	opts := &holdOptions{env: env}
	cmd := &cobra.Command{
		Use:   "hold PIPELINE [ENVIRONMENT]",
		Short: "Hold promotions until you release them",
		Long: `Hold promotions to an environment of a pipeline, or to all of them, until a user
releases them with --release. Nothing new starts meanwhile; open pull requests stay open.
A hold on one environment and a hold on all are separate, and are released separately.

` + connect.FlagsHelp,
		Example: `  espalier hold shop production -m "audit until Friday"
  espalier hold shop production --release
  espalier hold shop`,
		Args: cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return opts.run(cmd.Context(), args[0], append(args, "")[1])
		},
	}
	cli.AddMessage(cmd, &opts.message, "reason, shown to those who wait")
	cmd.Flags().BoolVar(&opts.release, "release", false, "release the hold")
	opts.format = display.AddFormatFlag(cmd, display.FormatText, display.FormatName, display.FormatJSON, display.FormatYAML)
	opts.access = connect.AddFlags(cmd, env)
	cmd.ValidArgsFunction = opts.access.CompletePipelines(true)
	return cmd
}

// holdResult is what was done, for programs.
type holdResult struct {
	Namespace   string `json:"namespace"`
	Pipeline    string `json:"pipeline"`
	Environment string `json:"environment,omitempty"`
	Held        bool   `json:"held"`
	Changed     bool   `json:"changed"`
	Message     string `json:"message"`
}

func (o *holdOptions) run(ctx context.Context, name, environment string) error {
	format, err := o.format.Get()
	if err != nil {
		return err
	}
	if o.release && o.message != "" {
		return errors.New("--message and --release do not go together: a hold is removed with its message")
	}
	requester, err := NewRequester(o.access)
	if err != nil {
		return err
	}
	p, err := requester.Read(ctx, name)
	if err != nil {
		return err
	}
	change := steer.HoldChange{Environment: environment, Message: o.message, Release: o.release, Time: o.env.Now()}
	changed, err := requester.asker().Hold(ctx, p, change)
	if err != nil {
		return requester.explain(p, err)
	}
	return o.print(holdResult{
		Namespace:   p.Namespace,
		Pipeline:    p.Name,
		Environment: environment,
		Held:        !o.release,
		Changed:     changed,
		Message:     steer.SaidOfHold(change, changed),
	}, format)
}

func (o *holdOptions) print(r holdResult, format display.Format) error {
	printer := display.To(o.env, o.env.Out)
	switch format {
	case display.FormatName:
		return printer.Lines(ResourceName(r.Pipeline))
	case display.FormatText:
		return printer.Lines(display.Clean(fmt.Sprintf("pipeline %s: %s", r.Pipeline, r.Message)))
	}
	return printer.Data(r, format)
}
