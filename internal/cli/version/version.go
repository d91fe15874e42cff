// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package version is the command "espalier version".
package version

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"espalier.dev/internal/cli"
	"espalier.dev/internal/cli/display"
	"espalier.dev/internal/version"
)

type options struct {
	env        cli.Environment
	format     *display.FormatFlag
	kubernetes string
}

// report is what the command prints.
type report struct {
	version.Info
	// Kubernetes is the version of the embedded API server and kubectl.
	Kubernetes string `json:"kubernetes,omitempty"`
}

// New returns the command. The second argument is the version of the embedded
// Kubernetes, or empty in a binary without one.
func New(env cli.Environment, kubernetes string) *cobra.Command {
	opts := options{env: env, kubernetes: kubernetes}
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Example: `  espalier version
  espalier version --output json`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return run(opts) },
	}
	opts.format = display.AddFormatFlag(cmd, display.FormatText, display.FormatJSON, display.FormatYAML)
	return cmd
}

func run(opts options) error {
	format, err := opts.format.Get()
	if err != nil {
		return err
	}
	r := report{Info: version.Get(), Kubernetes: opts.kubernetes}
	if format.IsData() {
		return display.To(opts.env, opts.env.Out).Data(r, format)
	}
	return printText(opts.env.Out, r)
}

func printText(w io.Writer, r report) error {
	if _, err := fmt.Fprintf(w, "espalier %s (%s, %s)\n", r.Version, r.Go, r.Platform); err != nil {
		return err
	}
	if r.Kubernetes == "" {
		return nil
	}
	_, err := fmt.Fprintf(w, "kubernetes %s, embedded\n", r.Kubernetes)
	return err
}
