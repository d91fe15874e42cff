// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package version is the command "espalier version".
package version

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"espalier.dev/internal/version"
)

type options struct {
	out        io.Writer
	format     string
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
func New(streams genericiooptions.IOStreams, kubernetes string) *cobra.Command {
	opts := options{out: streams.Out, kubernetes: kubernetes}
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Example: `  espalier version
  espalier version --output json`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return run(opts) },
	}
	cmd.Flags().StringVarP(&opts.format, "output", "o", "", "output format: json, or nothing for text")
	return cmd
}

func run(opts options) error {
	r := report{Info: version.Get(), Kubernetes: opts.kubernetes}
	switch opts.format {
	case "":
		return printText(opts.out, r)
	case "json":
		encoder := json.NewEncoder(opts.out)
		encoder.SetIndent("", "  ")
		return encoder.Encode(r)
	default:
		return fmt.Errorf("unknown output format %q: --output takes json, or nothing for text", opts.format)
	}
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
