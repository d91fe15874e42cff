// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package promotion hands decisions of people on promotions to the controllers: to approve, to reject, to promote now, to
// try again. A decision is an annotation on the Pipeline, made with the user's own rights, for one environment, one
// revision and one run. Whether it can have an effect is asked of the function that the controllers ask, so that users
// hear of it at once.
package promotion

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	pipelines "espalier.dev/api/pipelines/v1alpha1"
	"espalier.dev/internal/cli"
	"espalier.dev/internal/cli/connect"
	"espalier.dev/internal/cli/display"
	"espalier.dev/internal/steer"
)

type options struct {
	decision
	env      cli.Environment
	access   *connect.Access
	format   *display.FormatFlag
	revision string
	message  string
	wait     bool
	timeout  time.Duration
}

// defaultTimeout is generous: the controllers answer within seconds if they run.
const defaultTimeout = time.Minute

const sharedHelp = `

The decision is valid for one revision: the one to be promoted to the environment now, or
--revision. If another one has superseded it meanwhile, nothing happens. The Pipeline
records who decided, and the message.

With --wait, the command waits until the controllers have accepted or rejected the
decision, not until the promotion has ended; the exit code is 2 if they reject it.`

func (d decision) command(env cli.Environment) *cobra.Command {
	opts := &options{decision: d, env: env}
	cmd := &cobra.Command{
		Use:     string(d.action) + " PIPELINE ENVIRONMENT",
		Short:   d.short,
		Long:    d.long + sharedHelp + "\n\n" + connect.FlagsHelp,
		Example: d.example,
		Args:    cobra.ExactArgs(2),
	}
	flags := cmd.Flags()
	flags.StringVar(&opts.revision, "revision", "", "the revision (default: the one to be promoted now)")
	cli.AddMessage(cmd, &opts.message, "reason, recorded with the decision")
	flags.BoolVar(&opts.wait, "wait", false, "wait until the controllers have accepted or rejected the decision")
	flags.DurationVar(&opts.timeout, "timeout", defaultTimeout, "how long to wait with --wait; 0 for no limit")
	opts.format = display.AddFormatFlag(cmd, display.FormatText, display.FormatName, display.FormatJSON, display.FormatYAML)
	opts.access = connect.AddFlags(cmd, env)
	cmd.ValidArgsFunction = opts.access.CompletePipelines(true)
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return opts.run(cmd.Context(), args[0], args[1]) }
	return cmd
}

func (o *options) run(ctx context.Context, name, environment string) error {
	format, err := o.format.Get()
	if err != nil {
		return err
	}
	if o.timeout < 0 {
		return errors.New("--timeout is negative: use 0 to wait without limit")
	}
	requester, err := NewRequester(o.access)
	if err != nil {
		return err
	}
	p, err := requester.Read(ctx, name)
	if err != nil {
		return err
	}
	var result Result
	err = o.env.Interruptible(ctx, func(ctx context.Context) (err error) {
		result, err = o.decide(ctx, requester, p, environment)
		return err
	})
	if err != nil {
		return err
	}
	if err := o.print(result, format); err != nil {
		return err
	}
	if result.Accepted != nil && !*result.Accepted {
		return &cli.CodedError{Code: cli.ExitFailed}
	}
	return nil
}

// decide asks for the decision, unless it was made before or can have no effect.
func (o *options) decide(ctx context.Context, requester *Requester, p *pipelines.Pipeline, environment string) (Result, error) {
	outcome, err := requester.asker().Decide(ctx, p, steer.Decision{
		Action: o.action, Environment: environment, Revision: o.revision, Message: o.message, Time: o.env.Now(),
	})
	result := Result{
		Namespace:   p.Namespace,
		Pipeline:    p.Name,
		Environment: environment,
		Action:      o.action,
		Revision:    outcome.Request.Revision,
		Run:         outcome.Request.Run,
	}
	if err != nil {
		return result, requester.explain(p, err)
	}
	if outcome.Made {
		result.Accepted, result.Message = &outcome.Made, outcome.Answer
		return result, nil
	}
	result.ID = outcome.Request.ID
	result.Message = fmt.Sprintf("request sent: %s revision %s for environment %s", o.action, outcome.Request.Revision, environment)
	if outcome.Already {
		result.Message = fmt.Sprintf("already requested: %s revision %s for environment %s", o.action, outcome.Request.Revision, environment)
	}
	if !o.wait {
		return result, nil
	}
	return o.await(ctx, requester, p, result)
}
