// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package migrate is the command "espalier migrate": it takes a cluster over from the controllers of Landscaper or of Weave's pipelines,
// and goes back. It never deletes objects of users and starts no job: it checks, stops the other controllers, removes their webhooks and
// replaces the definitions. Before it changes something it writes down in a ConfigMap what was there, so that each step can be repeated
// after a crash, and undone.
package migrate

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"

	"espalier.dev/internal/cli"
	"espalier.dev/internal/cli/connect"
	"espalier.dev/internal/cli/display"
)

// defaultTimeout is how long running jobs and the pods of the other controllers may take to end.
const defaultTimeout = 10 * time.Minute

type options struct {
	env     cli.Environment
	access  *connect.Access
	format  *display.FormatFlag
	system  *system
	home    string
	dryRun  bool
	back    bool
	yes     bool
	ignored []string
	timeout time.Duration
}

// New returns the command with those below it.
func New(env cli.Environment) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "migrate",
		Short: "Take over a cluster from Landscaper or Weave pipelines, and go back",
		Long: `Take over a cluster from the controllers of Landscaper or of Weave's pipelines, and go back.
With --dry-run, only check whether that is possible.`,
		Example: `  espalier migrate landscaper --dry-run
  espalier migrate weave-pipelines --dry-run`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newSystem(env, landscaper()), newSystem(env, weavePipelines()))
	return cmd
}

func newSystem(env cli.Environment, s *system) *cobra.Command {
	opts := options{env: env, system: s}
	cmd := &cobra.Command{
		Use:   s.name,
		Short: "Take over a cluster from " + s.title + ", and go back",
		Long: fmt.Sprintf(`Take over a cluster from %s, and go back.

The command first checks the controllers, the CRDs, the webhooks and every object, and
lists what Espalier does not support or treats differently, with what to do about it, and
the section of the documentation that explains it. With --dry-run it stops there. An error
blocks the take-over, unless --ignore names it.

To take over, it waits for running jobs, scales the controllers of %s to zero, removes
their webhooks and installs the CRDs of Espalier. It deletes none of your objects and
starts no job. It records the previous state in the ConfigMap
%s in the namespace of Espalier. If the command is interrupted, run it again: it
continues where it stopped.

With --back, it restores CRDs, webhooks and replicas from that ConfigMap. Stop the
controllers of Espalier first.

%s`, s.title, s.title, s.recordName(), connect.FlagsHelp),
		Example: fmt.Sprintf(`  espalier migrate %[1]s --dry-run
  espalier migrate %[1]s --yes
  espalier migrate %[1]s --dry-run -o json
  espalier migrate %[1]s --back`, s.name),
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return run(cmd.Context(), opts) },
	}
	flags := cmd.Flags()
	flags.BoolVar(&opts.dryRun, "dry-run", false, "only check; change nothing")
	flags.BoolVar(&opts.back, "back", false, "go back to "+s.title)
	flags.BoolVarP(&opts.yes, "yes", "y", false, "do not ask for confirmation")
	flags.StringSliceVar(&opts.ignored, "ignore", nil, "error codes to ignore, separated by commas")
	flags.DurationVar(&opts.timeout, "timeout", defaultTimeout, "how long to wait for running jobs, and for pods to stop")
	flags.StringVar(&opts.home, "system-namespace", "espalier-system", "namespace of Espalier, which holds the record")
	opts.format = display.AddFormatFlag(cmd, display.FormatText, display.FormatJSON, display.FormatYAML)
	opts.access = connect.AddFlags(cmd, env)
	if err := cmd.RegisterFlagCompletionFunc("ignore", cobra.FixedCompletions(codeNames(), cobra.ShellCompDirectiveNoFileComp)); err != nil {
		panic(err) // The flag is defined above.
	}
	return cmd
}

func run(ctx context.Context, opts options) error {
	if _, err := opts.format.Get(); err != nil {
		return err
	}
	if err := checkCodes(opts.ignored); err != nil {
		return err
	}
	if opts.timeout <= 0 {
		return fmt.Errorf("--timeout is %s: give a duration above zero, such as 10m", opts.timeout)
	}
	config, err := opts.access.Config()
	if err != nil {
		return err
	}
	return migrate(ctx, config, opts)
}

// migrate checks, asks, and acts, over the given connection.
func migrate(ctx context.Context, config *rest.Config, opts options) error {
	format, err := opts.format.Get()
	if err != nil {
		return err
	}
	m, err := newMigration(config, opts)
	if err != nil {
		return err
	}
	report, err := m.examine(ctx)
	if err != nil {
		return err
	}
	p := presentation{opts: opts, printer: display.To(opts.env, opts.env.Out), format: format}
	if opts.dryRun {
		return p.checked(report)
	}
	if blocked := m.blocking(report); len(blocked) > 0 {
		return p.refused(report, blocked)
	}
	if err := p.findings(report); err != nil {
		return err
	}
	if err := m.confirm(); err != nil {
		return err
	}
	if err := opts.env.Interruptible(ctx, func(ctx context.Context) error { return m.perform(ctx, report) }); err != nil {
		return err
	}
	return p.done(report)
}

// confirm asks, unless the user has confirmed beforehand.
func (m *migration) confirm() error {
	if m.yes {
		return nil
	}
	question := fmt.Sprintf("This stops %s and replaces its CRDs, %s.", m.system.title, m.access.Where(""))
	if m.back {
		question = fmt.Sprintf("This restores the CRDs of %s and starts it again, %s.", m.system.title, m.access.Where(""))
	}
	fmt.Fprintln(m.env.ErrOut, question)
	if m.env.Confirm() {
		return nil
	}
	return &cli.Problem{
		Code: cli.ExitError, What: "not confirmed, so nothing was changed", Where: m.access.Where(""),
		Next: []string{"answer yes, or run the command with --yes"},
	}
}

func checkCodes(given []string) error {
	for _, code := range given {
		if !slices.Contains(codeNames(), code) {
			return fmt.Errorf("--ignore: unknown code %q; the codes are %s", code, strings.Join(codeNames(), ", "))
		}
	}
	return nil
}
