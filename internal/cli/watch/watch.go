// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package watch is the command "espalier watch": a screen that shows a tree of installations as it changes. The screen is a pure function
// of a state, and the state one of what happens; shell.go connects both to a terminal and a cluster.
package watch

import (
	"context"
	"fmt"
	"os"

	tea "charm.land/bubbletea/v2"
	"github.com/spf13/cobra"
	"golang.org/x/term"

	"espalier.dev/internal/cli"
	"espalier.dev/internal/cli/connect"
	"espalier.dev/internal/cli/display"
	"espalier.dev/internal/cli/follow"
	"espalier.dev/internal/objecttree"
)

type options struct {
	env       cli.Environment
	access    *connect.Access
	messenger *messenger
	// screen are options of the library that draws.
	screen []tea.ProgramOption
	names  []string
}

// New returns the command.
func New(env cli.Environment) *cobra.Command { return newCommand(env) }

func newCommand(env cli.Environment, screen ...tea.ProgramOption) *cobra.Command {
	opts := options{env: env, messenger: &messenger{otherwise: env.ErrOut}, screen: screen}
	cmd := &cobra.Command{
		Use:   "watch [INSTALLATION]",
		Short: "Show the tree of an installation live, full screen",
		Long: `Show the tree of an installation on the whole screen while it changes: nested
installations, executions and deploy items with the phases and messages of "espalier
tree". Without INSTALLATION, the command lists the installations of the namespace; Enter
opens one.

Keys: arrows or j and k select an object, Right or Enter opens and Left closes it. f hides
what has succeeded, w explains why the object is not done, e shows its events. r requests a
job of the tree and i interrupts it, as "espalier reconcile" and "espalier interrupt" do;
both ask first. ? lists all keys, q quits. Quitting affects no job.

If the connection breaks, the last line says so, and the command continues when the server
answers again. It needs a terminal; in scripts, use "espalier tree" and "espalier wait".

` + connect.FlagsHelp,
		Example: `  espalier watch shop
  espalier watch
  espalier watch -A`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.names = args
			return run(cmd.Context(), opts)
		},
	}
	// What would garble the screen goes through the messenger.
	env.ErrOut = opts.messenger
	opts.access = connect.AddFlags(cmd, env)
	opts.access.AddAllNamespaces()
	cmd.ValidArgsFunction = connect.CompleteOne(opts.access.CompleteInstallations(connect.AllInstallations))
	return cmd
}

func run(ctx context.Context, opts options) error {
	width, height, terminal := opts.terminal()
	if !terminal {
		return opts.noTerminal()
	}
	forest, namespace, err := opts.access.ReadForest(ctx, opts.names)
	if err != nil {
		return err
	}
	first := state{
		printer: display.To(opts.env, opts.env.Out), width: width, height: height, now: opts.env.Now(), namespace: namespace, forest: forest,
	}
	if len(opts.names) > 0 {
		nodes, err := opts.access.Select(forest, namespace, opts.names)
		if err != nil {
			return err
		}
		first.opened = refOf(nodes[0])
	}
	return opts.show(ctx, settle(first))
}

// show runs the screen until the user quits.
func (o options) show(parent context.Context, first state) error {
	ctx, cancel := context.WithCancel(parent)
	defer cancel()
	o.env.SilenceLogs() // What matters comes as an event.
	connection, err := o.access.Connect()
	if err != nil {
		return err
	}
	config, err := o.access.Config()
	if err != nil {
		return err
	}
	events, err := follow.Stream(ctx, config, first.namespace)
	if err != nil {
		return err
	}
	w := worker{Connection: connection, now: o.env.Now}
	program := tea.NewProgram(shell{state: first, do: func(e effect) tea.Cmd { return w.do(ctx, e) }}, append([]tea.ProgramOption{
		tea.WithContext(ctx), tea.WithInput(o.env.In), tea.WithOutput(o.env.Out), tea.WithWindowSize(first.width, first.height),
		tea.WithEnvironment(o.variables()),
	}, o.screen...)...)
	o.messenger.to(program.Send)
	defer o.messenger.to(nil)
	check := (&feed{events: events, now: o.env.Now, send: program.Send}).start(ctx, program.Kill)
	_, err = program.Run()
	check()
	if !ended(parent, err) {
		return fmt.Errorf("show the screen: %w", err)
	}
	return nil
}

// variables are those by which libraries find out what a terminal can do.
func (o options) variables() []string {
	var variables []string
	for _, name := range []string{
		"TERM", "TERM_PROGRAM", "COLORTERM", "NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "SSH_TTY", "TMUX", "STY", "WT_SESSION",
	} {
		if value := o.env.Getenv(name); value != "" {
			variables = append(variables, name+"="+value)
		}
	}
	return variables
}

// terminal returns the size of the terminal; ok is false if standard input or output leads elsewhere, or the terminal cannot be drawn on.
func (o options) terminal() (width, height int, ok bool) {
	width, height, ok = o.env.Size(o.env.Out)
	if file, isFile := o.env.In.(*os.File); isFile && !term.IsTerminal(int(file.Fd())) {
		ok = false
	}
	return width, height, ok && o.env.Getenv("TERM") != "dumb"
}

func (o options) noTerminal() error {
	problem := &cli.Problem{Code: cli.ExitError, What: "cannot watch: standard input or output is not a terminal that can be drawn on"}
	names, err := objecttree.InstallationNames(o.names)
	namespace, _ := o.access.Namespace() // It is only needed if the user has given it.
	switch {
	case o.access.AllNamespaces():
		problem.Next = []string{o.access.Suggest("", "tree", "--all-namespaces"), o.access.Suggest("", "get", "--all-namespaces")}
	case len(names) == 0 || err != nil:
		problem.Next = []string{o.access.Suggest(namespace, "tree"), o.access.Suggest(namespace, "get")}
	default:
		problem.Next = []string{o.access.Suggest(namespace, "tree", names[0]), o.access.Suggest(namespace, "wait", names[0])}
	}
	return problem
}
