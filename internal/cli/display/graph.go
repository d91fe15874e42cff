// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package display

import (
	"io"
	"slices"

	"espalier.dev/internal/diagram"
)

// GraphFormats are those that Graph prints.
var GraphFormats = []Format{FormatSVG, FormatMermaid, FormatDot}

// IsGraph reports whether a format is one that Graph prints.
func (f Format) IsGraph() bool { return slices.Contains(GraphFormats, f) }

// Graph prints a graph as a picture, or in a language for diagrams.
func (p Printer) Graph(g diagram.Graph, format Format) error {
	var text string
	switch format {
	case FormatSVG:
		text = g.Layout().SVG()
	case FormatDot:
		text = g.DOT()
	default:
		text = g.Mermaid()
	}
	_, err := io.WriteString(p.w, text)
	return err
}
