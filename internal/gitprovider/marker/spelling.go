// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package marker

import (
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"
)

// spell writes a revision, which contains no line break, in the current style, or in quotes if it needs them.
func spell(style yaml.Style, revision string) string {
	switch {
	case style&yaml.SingleQuotedStyle != 0:
		return quoteSingle(revision)
	case style&yaml.DoubleQuotedStyle == 0 && readsAsString(revision):
		return revision
	}
	return quoteDouble(revision)
}

func quoteSingle(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

func quoteDouble(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}

var (
	// plainWord is a string for every YAML parser, unless it matches one of the next two.
	plainWord = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._+/@:-]*$`)
	// word has a special meaning in YAML 1.1 or 1.2.
	word = regexp.MustCompile(`^(?i:y|n|yes|no|on|off|true|false|null|nan|inf)$`)
	// number is broad: integers in all bases, floats, base 60 and dates, of YAML 1.1 and 1.2.
	number = regexp.MustCompile(
		`^(?i:0x[0-9a-f_]*|0b[01_]*|0o[0-7_]*|[0-9][0-9_]*(:[0-9_]+)*\.?[0-9_]*(e[-+]?[0-9]*)?|[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}.*)$`,
	)
)

// readsAsString reports whether a revision without quotes is a string for parsers of both versions of YAML, since any tool may read the
// file.
func readsAsString(revision string) bool {
	return plainWord.MatchString(revision) && !strings.HasSuffix(revision, ":") && !word.MatchString(revision) &&
		!number.MatchString(revision)
}
