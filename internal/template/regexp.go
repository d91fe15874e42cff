// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package template

import (
	"regexp"
	"regexp/syntax"
)

// longestPattern bounds regular expressions; the compiler of the standard library bounds what they expand to.
const longestPattern = 1024

// costOfInstruction is what an instruction of a pattern costs in steps before anything is matched with it.
const costOfInstruction = 2

// stepsOfMatch is how many bytes of text times instructions of a pattern are matched in the time of a step.
const stepsOfMatch = 16

// Regexp compiles a regular expression and counts what it takes to match the text with it, which grows with the product
// of their sizes.
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
