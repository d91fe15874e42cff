// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package promotion

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	pipelines "espalier.dev/api/pipelines/v1alpha1"
	"espalier.dev/internal/cli"
	"espalier.dev/internal/cli/connect"
	"espalier.dev/internal/cli/display"
	"espalier.dev/internal/pipeline"
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
		Short: "Hold promotions until they are released",
		Long: `Hold promotions to an environment of a pipeline, or to all of them, until somebody
releases them with --release. Nothing new begins meanwhile; pull requests that are open
stay open. Holding an environment and holding all are two things: each has to be
released for itself.

` + connect.FlagsHelp + "\n\n" + cli.ExitCodesHelp,
		Example: `  espalier hold shop production -m "audit until Friday"
  espalier hold shop production --release
  espalier hold shop`,
		Args: cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return opts.run(cmd.Context(), args[0], append(args, "")[1])
		},
	}
	cmd.Flags().StringVarP(&opts.message, "message", "m", "", "why, for those who wait")
	cmd.Flags().BoolVar(&opts.release, "release", false, "let promotions happen again")
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
	if err := o.check(p, environment); err != nil {
		return err
	}
	changed, err := o.apply(ctx, requester, p, environment)
	if err != nil {
		return err
	}
	return o.print(holdResult{
		Namespace:   p.Namespace,
		Pipeline:    p.Name,
		Environment: environment,
		Held:        !o.release,
		Changed:     changed,
		Message:     o.said(environment, changed),
	}, format)
}

// check refuses environments that do not exist, unless a hold of one is to be removed.
func (o *holdOptions) check(p *pipelines.Pipeline, environment string) error {
	if environment == "" || o.release {
		return nil
	}
	for _, e := range p.Spec.Environments {
		if e.Name == environment {
			return nil
		}
	}
	return &cli.Problem{
		Code: cli.ExitNotFound, What: fmt.Sprintf("pipeline %s has no environment %s", p.Name, environment), Where: o.access.Where(p.Namespace),
		Next: []string{o.access.Suggest(p.Namespace, "pipeline", "status", p.Name)},
	}
}

// apply writes or removes the hold. It reports whether that has changed anything; a hold with another message has.
func (o *holdOptions) apply(
	ctx context.Context,
	requester *Requester,
	p *pipelines.Pipeline,
	environment string,
) (changed bool, err error) {
	hold := pipeline.UserHold{Environment: environment, Message: o.message, Time: o.env.Now()}
	if !o.release {
		hold.By = requester.User(ctx)
	}
	name, value := hold.Text()
	for {
		_, held := p.Annotations[name]
		text := &value
		switch {
		case o.release && !held:
			return false, nil
		case o.release:
			text = nil
		case held && o.message == "":
			return false, nil
		}
		err := requester.Annotate(ctx, p, name, text)
		if err == nil {
			return true, nil
		}
		if !apierrors.IsConflict(err) {
			return false, requester.Access.Explain(err, "change pipeline "+p.Name, requester.Namespace)
		}
		if p, err = requester.Read(ctx, p.Name); err != nil {
			return false, err
		}
	}
}

func (o *holdOptions) said(environment string, changed bool) string {
	what := "all environments are"
	if environment != "" {
		what = fmt.Sprintf("environment %s is", environment)
	}
	switch {
	case o.release && changed:
		return what + " released"
	case o.release:
		return what + " not held"
	case changed:
		return what + " held"
	}
	return what + " held already"
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
