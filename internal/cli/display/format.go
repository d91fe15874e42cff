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
	// chosen is the format once it is known: a file with a template may be a pipe, which can be read only once.
	chosen Format
}

// AddFormatFlag gives a command the flag --output. The first format is the default. Whoever prints JSON also fills templates with it.
func AddFormatFlag(cmd *cobra.Command, offered ...Format) *FormatFlag {
	f := &FormatFlag{offered: offered}
	cmd.Flags().StringVarP(&f.value, "output", "o", string(offered[0]), "output format: "+f.list())
	if err := cmd.RegisterFlagCompletionFunc("output", f.complete); err != nil {
		panic(err) // The flag is defined above.
	}
	return f
}

// complete offers the formats. There is no space after one that needs a template.
func (f *FormatFlag) complete(_ *cobra.Command, _ []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
	directive := cobra.ShellCompDirectiveNoFileComp
	var choices []cobra.Completion
	for _, format := range f.offered {
		if strings.HasPrefix(string(format), begun) {
			choices = append(choices, string(format))
		}
	}
	whole := len(choices)
	for _, format := range f.templates() {
		if strings.HasPrefix(format.name+"=", begun) {
			choices = append(choices, format.name+"=")
		}
	}
	if whole == 0 && len(choices) > 0 {
		directive |= cobra.ShellCompDirectiveNoSpace
	}
	return choices, directive
}

// templates are the formats with a template that the command offers.
func (f *FormatFlag) templates() []templateFormat {
	if slices.Contains(f.offered, FormatJSON) {
		return templateFormats
	}
	return nil
}

func (f *FormatFlag) list() string {
	names := make([]string, 0, len(f.offered))
	for _, format := range f.offered {
		names = append(names, string(format))
	}
	for _, format := range f.templates() {
		names = append(names, format.name+"="+format.argument())
	}
	return strings.Join(names, ", ")
}

// Get returns the chosen format, or an error that lists those there are. A format with a template is returned with the template itself,
// which was checked.
func (f *FormatFlag) Get() (Format, error) {
	if f.chosen != "" {
		return f.chosen, nil
	}
	chosen, err := f.choose()
	if err != nil {
		return "", err
	}
	f.chosen = chosen
	return chosen, nil
}

func (f *FormatFlag) choose() (Format, error) {
	if f.value == "" {
		return f.offered[0], nil
	}
	name, argument, _ := strings.Cut(f.value, "=")
	for _, format := range f.templates() {
		if format.name == name {
			return format.read(argument)
		}
	}
	if !slices.Contains(f.offered, Format(f.value)) {
		return "", fmt.Errorf("unknown output format %q: --output takes %s", f.value, f.list())
	}
	return Format(f.value), nil
}

// IsData reports whether a format is one that Data prints.
func (f Format) IsData() bool {
	_, _, isTemplate := f.template()
	return f == FormatJSON || f == FormatYAML || isTemplate
}

// Data prints a value for programs: as JSON, as YAML, or as what a template makes of the JSON.
func (p Printer) Data(value any, format Format) error {
	if kind, text, isTemplate := format.template(); isTemplate {
		return p.fill(kind, text, value)
	}
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
