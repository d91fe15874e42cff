// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package display prints for people and for programs: tables and trees that fit the terminal, colours where they are
// wanted and never as the only sign, plain text where there is no terminal, and a part of the screen that is redrawn.
//
// Texts out of a cluster are written by others. What could steer a terminal is taken out of them.
package display

import (
	"io"
	"strings"
	"time"
	"unicode"

	"github.com/clipperhouse/displaywidth"
	"k8s.io/apimachinery/pkg/util/duration"

	"espalier.dev/internal/cli"
	"espalier.dev/internal/cli/plain"
)

// Style is how a piece of text stands out. Its values are parameters of the escape sequence.
type Style string

// Styles.
const (
	Plain  Style = ""
	Bold   Style = "1"
	Faint  Style = "2"
	Red    Style = "31"
	Green  Style = "32"
	Yellow Style = "33"
	Blue   Style = "34"
	Purple Style = "35"
	Cyan   Style = "36"
)

// Printer writes to one stream.
type Printer struct {
	w io.Writer
	// width is that of the terminal, 0 if there is none: then nothing is cut.
	width, height int
	colour        bool
	now           time.Time
	// exact says that times are printed in full.
	exact bool
}

// To returns a printer for a stream. Colours follow the usual variables: NO_COLOR switches them off, CLICOLOR_FORCE on,
// and otherwise a terminal gets them unless TERM calls it dumb.
func To(env cli.Environment, w io.Writer) Printer {
	width, height, terminal := env.Size(w)
	p := Printer{w: w, width: width, height: height, now: env.Now()}
	switch force := env.Getenv("CLICOLOR_FORCE"); {
	case env.Getenv("NO_COLOR") != "":
	case force != "" && force != "0":
		p.colour = true
	default:
		p.colour = terminal && env.Getenv("TERM") != "dumb"
	}
	return p
}

// Uncut returns a printer that prints every text to its end.
func (p Printer) Uncut() Printer {
	p.width = 0
	return p
}

// Indented returns a printer for lines that stand behind some space.
func (p Printer) Indented(by int) Printer {
	if p.width > 0 {
		p.width = max(1, p.width-by)
	}
	return p
}

// Paint gives a text a style, if the stream has colours.
func (p Printer) Paint(text string, style Style) string {
	if !p.colour || style == Plain || text == "" {
		return text
	}
	return "\x1b[" + string(style) + "m" + text + "\x1b[0m"
}

// Exact returns a printer that prints every text to its end, and times instead of ages.
func (p Printer) Exact() Printer {
	p.exact = true
	return p.Uncut()
}

// AgeTitle is the title of a column with the ages of objects.
func (p Printer) AgeTitle() string {
	if p.exact {
		return "CREATED"
	}
	return "AGE"
}

// Age is how long ago something was, as kubectl has it, or the time in UTC.
func (p Printer) Age(since time.Time) string {
	if since.IsZero() {
		return "-"
	}
	if p.exact {
		return since.UTC().Format(time.RFC3339)
	}
	return duration.HumanDuration(p.now.Sub(since))
}

// Summary is the first line of a text, with a sign that there are more. What could steer a terminal is taken out.
func Summary(text string) string {
	first, rest, _ := strings.Cut(strings.TrimSpace(text), "\n")
	if first = Clean(first); rest != "" {
		first += " …"
	}
	return first
}

// Details are the lines of a text that Summary leaves out, such as the part of a template that an error shows: what
// stands below each other in it stays below each other. What could steer a terminal is taken out.
func Details(text string) []string {
	_, rest, found := strings.Cut(strings.TrimSpace(text), "\n")
	if !found {
		return nil
	}
	var lines []string
	for line := range strings.Lines(rest) {
		line = strings.Map(func(r rune) rune {
			switch {
			case r != '\t' && plain.Steers(r):
				return -1
			case unicode.IsSpace(r):
				return ' '
			}
			return r
		}, line)
		lines = append(lines, strings.TrimRight(line, " "))
	}
	return lines
}

// Verbatim is one line of somebody's output: its spaces and tabs stay, what could steer a terminal is taken out.
func Verbatim(text string) string { return plain.Line(text) }

// Clean makes one line of a text and takes out what could steer a terminal.
func Clean(text string) string { return plain.Words(text) }

// Width is how many columns of a terminal a text takes: some characters take two, others none.
func Width(text string) int { return displaywidth.String(text) }

// Cut shortens a text to a width and shows that it did.
func Cut(text string, width int) string {
	if Width(text) <= width {
		return text
	}
	if width < 1 {
		return ""
	}
	return displaywidth.TruncateString(text, width, "…")
}
