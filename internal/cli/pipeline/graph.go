// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"espalier.dev/internal/cli"
	"espalier.dev/internal/cli/display"
)

func newGraph(env cli.Environment) *cobra.Command {
	s := &showing{env: env}
	s.print = func(printer display.Printer, p subject, format display.Format) error {
		v := viewOf(p.Pipeline, env.Now())
		switch format {
		case display.FormatMermaid:
			return printer.Lines(mermaid(v)...)
		case display.FormatDot:
			return printer.Lines(dot(v)...)
		}
		return printer.Lines(drawing(v)...)
	}
	return s.complete(&cobra.Command{
		Use:   "graph NAME",
		Short: "Draw a pipeline",
		Long: `Draw the environments of a pipeline with their targets, the revisions that those run,
and the promotions between them: as text, or in the languages of Mermaid and Graphviz.`,
		Example: `  espalier pipeline graph shop
  espalier pipeline graph shop -o dot | dot -Tsvg > shop.svg`,
		Args: cobra.ExactArgs(1),
	}, display.FormatText, display.FormatMermaid, display.FormatDot)
}

// drawing is the graph in characters, from top to bottom.
func drawing(v view) []string {
	lines := []string{display.Clean(v.App)}
	for i, e := range v.Environments {
		if i > 0 {
			lines = append(lines, "│", "▼ "+arrow(e))
		}
		lines = append(lines, display.Clean(e.Name))
		for t, target := range e.Targets {
			branch := "├─ "
			if t == len(e.Targets)-1 {
				branch = "└─ "
			}
			lines = append(lines, branch+display.Clean(fmt.Sprintf("%s: %s, %s", nameOf(target), orDash(target.Revision), stateOf(target))))
		}
	}
	return lines
}

// arrow says what the promotion into an environment has come to, and what it waits for.
func arrow(e environmentView) string {
	text := "not promoted yet"
	if e.Promotion != nil {
		text = fmt.Sprintf("%s %s", e.Promotion.Revision, e.Promotion.State)
	}
	for _, hold := range e.Holds {
		text += ", " + string(hold.Reason)
	}
	return display.Clean(text)
}

func mermaid(v view) []string {
	lines := []string{"flowchart LR"}
	for i, e := range v.Environments {
		lines = append(lines, fmt.Sprintf("  subgraph e%d[%s]", i, mermaidText(e.Name)))
		for t, target := range e.Targets {
			lines = append(lines, fmt.Sprintf("    e%dt%d[%s]", i, t, mermaidText(nameOf(target), orDash(target.Revision), stateOf(target))))
		}
		lines = append(lines, "  end")
	}
	for i, e := range v.Environments {
		if i > 0 {
			lines = append(lines, fmt.Sprintf("  e%d -->|%s| e%d", i-1, mermaidText(arrow(e)), i))
		}
	}
	return lines
}

// mermaidText quotes lines of text. What means something to Mermaid or to HTML is written as a character code.
func mermaidText(lines ...string) string {
	escaped := make([]string, 0, len(lines))
	for _, line := range lines {
		var text strings.Builder
		for _, r := range display.Clean(line) {
			if strings.ContainsRune(`"#<>&`+"`", r) {
				fmt.Fprintf(&text, "#%d;", r)
			} else {
				text.WriteRune(r)
			}
		}
		escaped = append(escaped, text.String())
	}
	return `"` + strings.Join(escaped, "<br/>") + `"`
}

func dot(v view) []string {
	lines := []string{"digraph " + dotText(v.Name) + " {", "  rankdir=LR;", "  compound=true;", "  node [shape=box];"}
	for i, e := range v.Environments {
		lines = append(
			lines,
			fmt.Sprintf("  subgraph cluster_%d {", i),
			"    label="+dotText(e.Name)+";",
			fmt.Sprintf("    e%d [shape=point, style=invis];", i),
		)
		for t, target := range e.Targets {
			lines = append(lines, fmt.Sprintf("    e%dt%d [label=%s];", i, t, dotText(nameOf(target), orDash(target.Revision), stateOf(target))))
		}
		lines = append(lines, "  }")
	}
	for i, e := range v.Environments {
		if i > 0 {
			lines = append(lines, fmt.Sprintf("  e%d -> e%d [ltail=cluster_%d, lhead=cluster_%d, label=%s];", i-1, i, i-1, i, dotText(arrow(e))))
		}
	}
	return append(lines, "}")
}

// dotText quotes lines of text.
func dotText(lines ...string) string {
	escaped := make([]string, 0, len(lines))
	for _, line := range lines {
		escaped = append(escaped, strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(display.Clean(line)))
	}
	return `"` + strings.Join(escaped, `\n`) + `"`
}
