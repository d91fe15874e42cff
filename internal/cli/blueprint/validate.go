// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package blueprint

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/yaml"

	"espalier.dev/internal/offline"
)

type validateOptions struct {
	streams genericiooptions.IOStreams
	paths   []string
	format  string
	strict  bool
}

func newValidate(streams genericiooptions.IOStreams) *cobra.Command {
	opts := validateOptions{streams: streams}
	cmd := &cobra.Command{
		Use:   "validate DIR|FILE...",
		Short: "Find mistakes in blueprints",
		Long: `Find mistakes in blueprints: wrong or unknown fields, templates that do not compile,
invalid schemas, missing files. Each finding names the field.

DIR is the directory of a blueprint, which contains blueprint.yaml. FILE contains
Installations with inline blueprints, or is blueprint.yaml itself; - is standard
input. Blueprints that a blueprint contains for its nested installations are
checked, too.

Exit codes: 0 without errors, 1 with some. With --strict, warnings count as errors.`,
		Example: `  espalier blueprint validate ./blueprint
  espalier blueprint validate installation.yaml --strict
  espalier blueprint validate ./blueprint -o json`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			opts.paths = args
			return validate(opts)
		},
	}
	cmd.Flags().StringVarP(&opts.format, "output", "o", "", "output format: yaml, json, or nothing for text")
	cmd.Flags().BoolVar(&opts.strict, "strict", false, "treat warnings as errors")
	return cmd
}

func validate(opts validateOptions) error {
	write, known := writers[opts.format]
	if !known {
		return fmt.Errorf("unknown output format %q: --output takes yaml, json, or nothing for text", opts.format)
	}
	checked, err := offline.CheckBlueprints(opts.paths, opts.streams.In)
	if err != nil {
		return err
	}
	if err := write(opts.streams.Out, checked); err != nil {
		return err
	}
	faulty := 0
	for _, c := range checked {
		if len(c.Errors) > 0 || opts.strict && len(c.Warnings) > 0 {
			faulty++
		}
	}
	switch {
	case len(checked) == 0:
		return errors.New(
			"there is no blueprint in what was given: name the directory of a blueprint, or a file with Installations whose blueprint is inline",
		)
	case faulty > 0:
		return fmt.Errorf("%d of %d blueprints cannot be accepted", faulty, len(checked))
	}
	return nil
}

var writers = map[string]func(io.Writer, []offline.CheckedBlueprint) error{
	"": writeText,
	"json": func(w io.Writer, checked []offline.CheckedBlueprint) error {
		return offline.WriteJSON(w, report{checked})
	},
	"yaml": func(w io.Writer, checked []offline.CheckedBlueprint) error {
		text, err := yaml.Marshal(report{checked})
		if err != nil {
			return err
		}
		_, err = w.Write(text)
		return err
	},
}

// report is what the command prints for programs.
type report struct {
	Blueprints []offline.CheckedBlueprint `json:"blueprints"`
}

func writeText(w io.Writer, checked []offline.CheckedBlueprint) error {
	for _, c := range checked {
		for _, text := range c.Errors {
			if _, err := fmt.Fprintf(w, "%s: error: %s\n", c.Source, text); err != nil {
				return err
			}
		}
		for _, text := range c.Warnings {
			if _, err := fmt.Fprintf(w, "%s: warning: %s\n", c.Source, text); err != nil {
				return err
			}
		}
		if len(c.Errors)+len(c.Warnings) == 0 {
			if _, err := fmt.Fprintf(w, "%s: ok\n", c.Source); err != nil {
				return err
			}
		}
	}
	return nil
}
