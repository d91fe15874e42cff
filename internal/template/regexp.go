// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package template

import (
	"regexp"
	"regexp/syntax"
)

// longestPattern bounds the length of regular expressions; the standard library's compiler bounds their expansion.
const longestPattern = 1024

// costOfInstruction is the cost of an instruction of a pattern in steps, before any matching.
const costOfInstruction = 2

// stepsOfMatch is the number of bytes of text, times instructions of a pattern, matched per step.
const stepsOfMatch = 16

// Regexp compiles a regular expression and charges for matching the text with it, which grows with the product of their
// sizes.
func (m *Meter) Regexp(pattern, text string) (*regexp.Regexp, error) {
	if len(pattern) > longestPattern {
		return nil, Problemf("the regular expression is longer than %d bytes", longestPattern)
	}
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return nil, Problemf("the regular expression is not valid")
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return nil, Problemf("the regular expression is not valid")
	}
	size := int64(len(program.Inst))
	if err := m.Step(costOfInstruction*size + size*int64(len(text))/stepsOfMatch); err != nil {
		return nil, err
	}
	expression, err := regexp.Compile(pattern)
	if err != nil {
		return nil, Problemf("the regular expression is not valid")
	}
	return expression, nil
}
