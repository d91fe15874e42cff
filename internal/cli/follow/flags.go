// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package follow

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"espalier.dev/internal/cli"
	"espalier.dev/internal/cli/connect"
	"espalier.dev/internal/cli/display"
	"espalier.dev/internal/objecttree"
)

// defaultTimeout suits what people and pipelines are ready to wait for.
const defaultTimeout = 10 * time.Minute

// Flags are those of a command that starts something, or waits for it.
type Flags struct {
	env     cli.Environment
	access  *connect.Access
	format  *display.FormatFlag
	wait    bool
	timeout time.Duration
}

// Formats of what such commands print.
var formats = []display.Format{display.FormatText, display.FormatName, display.FormatJSON, display.FormatYAML}

// AddWaitFlags adds the flags of a command that always waits.
func AddWaitFlags(cmd *cobra.Command, env cli.Environment, access *connect.Access) *Flags {
	f := &Flags{env: env, access: access, wait: true, format: display.AddFormatFlag(cmd, formats...)}
	cmd.Flags().DurationVar(&f.timeout, "timeout", defaultTimeout, "how long to wait; 0 for no limit")
	return f
}

// AddStartFlags adds the flags of a command that starts something and waits for it if that is wanted.
func AddStartFlags(cmd *cobra.Command, env cli.Environment, access *connect.Access, what string) *Flags {
	f := &Flags{env: env, access: access, format: display.AddFormatFlag(cmd, formats...)}
	cmd.Flags().BoolVar(&f.wait, "wait", false, "wait until "+what)
	cmd.Flags().DurationVar(&f.timeout, "timeout", defaultTimeout, "how long to wait with --wait; 0 for no limit")
	return f
}

// Waits reports whether the user wants to wait.
func (f *Flags) Waits() bool { return f.wait }

// Format is the flag --output, for what else a command prints.
func (f *Flags) Format() *display.FormatFlag { return f.format }

// Timeout is how long the user wants to wait; 0 means no limit.
func (f *Flags) Timeout() time.Duration { return f.timeout }

// Check finds mistakes before anything is started.
func (f *Flags) Check() error {
	if f.timeout < 0 {
		return errors.New("--timeout is negative: use 0 to wait without limit")
	}
	_, err := f.format.Get()
	return err
}

// Started is something that a command has requested.
type Started struct {
	Awaited
	// Said completes the sentence that begins with the installation's name: "will run a job".
	Said string
}

// Done prints what was started, and waits for it if that is wanted.
func (f *Flags) Done(ctx context.Context, namespace string, started []Started) error {
	format, err := f.format.Get()
	if err != nil {
		return err
	}
	w := Wait{Env: f.env, Access: f.access, Namespace: namespace, Timeout: f.timeout, Format: format}
	if !f.wait {
		return (&waiting{Wait: w}).printStarted(started)
	}
	progress := display.To(f.env, f.env.ErrOut)
	for _, s := range started {
		if s.Said != "" {
			if err := progress.Lines(display.Clean(string(objecttree.Installation) + "/" + s.Name + " " + s.Said)); err != nil {
				return err
			}
		}
		w.Awaited = append(w.Awaited, s.Awaited)
	}
	return w.Run(ctx)
}

// Abandon prints what was started before an error, without waiting for it. If the user wants to wait, it says how.
func (f *Flags) Abandon(namespace string, started []Started) error {
	format, err := f.format.Get()
	if err != nil || len(started) == 0 {
		return err
	}
	r := &waiting{Wait: Wait{Env: f.env, Access: f.access, Namespace: namespace, Format: format}}
	if err := r.printStarted(started); err != nil || !f.wait {
		return err
	}
	for _, s := range started {
		r.Awaited = append(r.Awaited, s.Awaited)
	}
	f.access.Tell("Not waiting, because of the error below. To wait:\n  %s", strings.Join(r.again(), "\n  "))
	return nil
}

func (r *waiting) printStarted(started []Started) error {
	var all outcomes
	for _, s := range started {
		all.Results = append(all.Results, Outcome{Namespace: r.Namespace, Name: s.Name, Verdict: s.Said})
	}
	return r.print(all)
}
