// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package man

import (
	"fmt"
	"strings"
	"unicode"
)

// page is a man page in roff that grows. Texts are escaped; only the methods write requests and macros.
type page struct{ text strings.Builder }

// characters are what roff would take for its own, or print as another character: a hyphen in place of a minus, for example.
var characters = strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`, "`", `\(ga`, "^", `\(ha`, "~", `\(ti`)

// plain is a text without what roff would take for its own. Characters beyond ASCII are named, because roff reads one byte at a time.
func plain(text string) string {
	var result strings.Builder
	for _, r := range characters.Replace(text) {
		if r > unicode.MaxASCII {
			fmt.Fprintf(&result, `\[u%04X]`, r)
			continue
		}
		result.WriteRune(r)
	}
	return result.String()
}

// escaped is a text for the middle of a line, or for a whole one: a period or a quote at its beginning would be a request.
func escaped(text string) string {
	text = plain(text)
	if strings.HasPrefix(text, ".") {
		return `\&` + text
	}
	return text
}

// argument is a text as an argument of a macro.
func argument(text string) string {
	return `"` + strings.ReplaceAll(escaped(text), `"`, `\(dq`) + `"`
}

// macro writes a macro with arguments.
func (p *page) macro(name string, arguments ...string) {
	p.text.WriteString("." + name)
	for _, a := range arguments {
		p.text.WriteString(" " + argument(a))
	}
	p.text.WriteString("\n")
}

// breakable lets lists without spaces, such as defaults, break after a comma.
var breakable = strings.NewReplacer(", ", ", ", ",", `,\:`)

// lines writes text that is filled.
func (p *page) lines(text string) {
	for line := range strings.SplitSeq(strings.TrimSpace(text), "\n") {
		p.text.WriteString(strings.TrimSuffix(breakable.Replace(escaped(strings.TrimSpace(line))), `\:`) + "\n")
	}
}

// verbatim writes text whose lines stay as they are, except for the indentation that all have.
func (p *page) verbatim(text string) {
	lines := strings.Split(strings.Trim(text, "\n"), "\n")
	common := len(text)
	for _, line := range lines {
		if bare := strings.TrimLeft(line, " "); bare != "" {
			common = min(common, len(line)-len(bare))
		}
	}
	p.text.WriteString(".PP\n.nf\n.RS 4\n")
	for _, line := range lines {
		p.text.WriteString(escaped(strings.TrimRight(line[min(common, len(line)):], " ")) + "\n")
	}
	p.text.WriteString(".RE\n.fi\n")
}

// prose writes paragraphs. Those that are laid out with spaces stay as they are.
func (p *page) prose(text string) {
	for paragraph := range strings.SplitSeq(strings.TrimSpace(text), "\n\n") {
		if strings.HasPrefix(paragraph, " ") || strings.Contains(paragraph, "\n ") || strings.Contains(paragraph, "  ") {
			p.verbatim(paragraph)
			continue
		}
		p.macro("PP")
		p.lines(paragraph)
	}
}

// entry writes a term, in bold, with what it means.
func (p *page) entry(term, value, meaning string) {
	p.macro("TP")
	p.text.WriteString(`\fB` + plain(term) + `\fR`)
	if value != "" {
		p.text.WriteString(` \fI` + plain(value) + `\fR`)
	}
	p.text.WriteString("\n")
	p.lines(meaning)
}

// references writes names of pages, with commas between them.
func (p *page) references(names []string) {
	for i, name := range names {
		comma := ","
		if i == len(names)-1 {
			comma = ""
		}
		fmt.Fprintf(&p.text, ".BR %s (%s)%s\n", argument(name), section, comma)
	}
}
