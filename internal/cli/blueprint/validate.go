// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package blueprint

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"espalier.dev/internal/cli"
	"espalier.dev/internal/cli/display"
	"espalier.dev/internal/offline"
)

type validateOptions struct {
	env    cli.Environment
	files  []string
	paths  []string
	format *display.FormatFlag
	strict bool
}

func newValidate(env cli.Environment) *cobra.Command {
	opts := validateOptions{env: env}
	cmd := &cobra.Command{
		Use:   "validate [-f] DIR|FILE...",
		Short: "Find mistakes in blueprints",
		Long: `Find mistakes in blueprints: wrong or unknown fields, templates that do not compile,
invalid schemas, missing files. Each finding names the field.

A directory that contains blueprint.yaml is a blueprint. FILE contains Installations with
inline blueprints, or is blueprint.yaml itself; - is standard input. Of any other
directory, the .yaml, .yml and .json files are read as manifests, as by render.
Blueprints that a blueprint contains for its nested installations are checked, too.
Directories and files can be given as arguments or with -f.`,
		Example: `  espalier blueprint validate ./blueprint
  espalier blueprint validate -f installation.yaml --strict
  espalier blueprint validate -f manifests/
  espalier blueprint validate ./blueprint -o json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.paths = append(opts.files, args...)
			if len(opts.paths) == 0 {
				return cli.Misused(cmd, errors.New("there is nothing to validate: name directories or files, with or without -f"))
			}
			return validate(opts)
		},
	}
	cli.AddFilenames(cmd, &opts.files, "directory of a blueprint, or file or directory with Installations")
	opts.format = display.AddFormatFlag(cmd, display.FormatText, display.FormatYAML, display.FormatJSON)
	cmd.Flags().BoolVar(&opts.strict, "strict", false, "treat warnings as errors")
	return cmd
}

func validate(opts validateOptions) error {
	format, err := opts.format.Get()
	if err != nil {
		return err
	}
	checked, err := offline.CheckBlueprints(opts.paths, opts.env.In)
	if err != nil {
		return err
	}
	if err := opts.print(checked, format); err != nil {
		return err
	}
	return opts.judge(checked)
}

func (o validateOptions) print(checked []offline.CheckedBlueprint, format display.Format) error {
	if format.IsData() {
		return display.To(o.env, o.env.Out).Data(report{checked}, format)
	}
	return writeText(o.env.Out, checked)
}

// judge is an error if blueprints have mistakes, or if there are none.
func (o validateOptions) judge(checked []offline.CheckedBlueprint) error {
	faulty := 0
	for _, c := range checked {
		if len(c.Errors) > 0 || o.strict && len(c.Warnings) > 0 {
			faulty++
		}
	}
	switch {
	case len(checked) == 0:
		return errors.New(
			"there is no blueprint in what was given: name the directory of a blueprint, or a file or directory with Installations whose blueprint is inline",
		)
	case faulty > 0:
		return fmt.Errorf("%d of %d blueprints cannot be accepted", faulty, len(checked))
	}
	return nil
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
