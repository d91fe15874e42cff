// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package display

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"
)

// Format is a value of the flag --output.
type Format string

// Formats. Each command offers some of them.
const (
	FormatTable Format = "table"
	FormatWide  Format = "wide"
	FormatTree  Format = "tree"
	FormatText  Format = "text"
	FormatJSON  Format = "json"
	FormatYAML  Format = "yaml"
	FormatName  Format = "name"
	// FormatSVG is a picture; FormatMermaid and FormatDot are languages for diagrams.
	FormatSVG     Format = "svg"
	FormatMermaid Format = "mermaid"
	FormatDot     Format = "dot"
)

// FormatFlag is the flag --output of a command.
type FormatFlag struct {
	offered []Format
	value   string
}

// AddFormatFlag gives a command the flag --output. The first format is the default.
func AddFormatFlag(cmd *cobra.Command, offered ...Format) *FormatFlag {
	f := &FormatFlag{offered: offered}
	cmd.Flags().StringVarP(&f.value, "output", "o", string(offered[0]), "output format: "+f.list())
	choices := make([]cobra.Completion, 0, len(offered))
	for _, format := range offered {
		choices = append(choices, string(format))
	}
	if err := cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(choices, cobra.ShellCompDirectiveNoFileComp)); err != nil {
		panic(err) // The flag is defined above.
	}
	return f
}

func (f *FormatFlag) list() string {
	names := make([]string, 0, len(f.offered))
	for _, format := range f.offered {
		names = append(names, string(format))
	}
	return strings.Join(names, ", ")
}

// Get returns the chosen format, or an error that lists those there are.
func (f *FormatFlag) Get() (Format, error) {
	if !slices.Contains(f.offered, Format(f.value)) {
		return "", fmt.Errorf("unknown output format %q: --output takes %s", f.value, f.list())
	}
	return Format(f.value), nil
}

// Data prints a value for programs, as JSON or as YAML.
func (p Printer) Data(value any, format Format) error {
	if format == FormatYAML {
		text, err := yaml.Marshal(value)
		if err != nil {
			return fmt.Errorf("print as YAML: %w", err)
		}
		_, err = p.w.Write(text)
		return err
	}
	encoder := json.NewEncoder(p.w)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return fmt.Errorf("print as JSON: %w", err)
	}
	return nil
}
