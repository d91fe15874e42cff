// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package bugreport is the command "espalier bug-report": it collects what is needed to find out what went wrong, without
// confidential values.
package bugreport

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"espalier.dev/internal/archive"
	"espalier.dev/internal/cli"
	"espalier.dev/internal/cli/check"
	"espalier.dev/internal/cli/connect"
	"espalier.dev/internal/cli/display"
)

type options struct {
	env     cli.Environment
	access  *connect.Access
	subject check.Subject
	file    string
}

// New returns the command.
func New(env cli.Environment) *cobra.Command {
	opts := options{env: env}
	cmd := &cobra.Command{
		Use:   "bug-report",
		Short: "Collect facts for a bug report, without values",
		Long: `Collect facts for a bug report into an archive: versions, the findings of "espalier check",
objects of Espalier's kinds, Events about them, and logs and metrics of the controllers.

The archive keeps names, references, phases, conditions and errors of objects, and masks
everything else, including data, imports, configurations and blueprints. It contains no
Secrets. Texts are searched for the values of the Secrets, Targets and DataObjects of the
included namespaces, so you need the right to list these; without it, texts are omitted.
The command lists the contents of the archive. Review it before you send it: names are not
masked.

` + connect.FlagsHelp,
		Example: `  espalier bug-report -n shops
  espalier bug-report -A --output-file report.tar.gz`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("file") {
				opts.access.Tell("warning: --file and -f are deprecated: use --output-file")
			}
			return run(cmd.Context(), opts)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&opts.file, "output-file", "", "archive to write, which must not exist (default espalier-bug-report-TIME.tar.gz)")
	flags.StringVarP(&opts.file, "file", "f", "", "archive to write")
	if err := flags.MarkHidden("file"); err != nil {
		panic(err) // The flag is defined above.
	}
	check.AddSystemFlags(cmd, &opts.subject)
	opts.access = connect.AddFlags(cmd, env)
	opts.access.AddAllNamespaces()
	return cmd
}

func run(ctx context.Context, opts options) error {
	name := opts.file
	if name == "" {
		name = "espalier-bug-report-" + opts.env.Now().UTC().Format("20060102-150405") + ".tar.gz"
	}
	if _, err := os.Lstat(name); !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("--output-file: %s exists already: choose another name", name)
	}
	subject, err := check.Connect(opts.access, opts.env, opts.subject)
	if err != nil {
		return err
	}
	config, err := opts.access.Config()
	if err != nil {
		return err
	}
	c := &collector{Subject: subject, config: config}
	if err := c.collect(ctx); err != nil {
		return err
	}
	if err := write(name, c.files); err != nil {
		return err
	}
	lines := []string{name + " contains:"}
	for _, file := range c.files {
		lines = append(lines, fmt.Sprintf("  %-28s %s", file.name, file.about))
	}
	return display.To(opts.env, opts.env.Out).Lines(append(lines, "", "Review it before you send it: names of objects are not masked.")...)
}

// write makes a file that others cannot read.
func write(name string, files []file) error {
	packed := archive.Files{}
	for _, f := range files {
		packed["espalier-bug-report/"+f.name] = []byte(f.content)
	}
	content, err := archive.Tar(packed)
	if err == nil {
		content, err = archive.Gzip(content)
	}
	if err != nil {
		return fmt.Errorf("pack the archive: %w", err)
	}
	out, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("--output-file: %w", err)
	}
	_, err = out.Write(content)
	if err = errors.Join(err, out.Close()); err != nil {
		return errors.Join(fmt.Errorf("write %s: %w", name, err), os.Remove(name))
	}
	return nil
}
