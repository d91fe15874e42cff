// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package gotemplate

import (
	"regexp"
	"strings"
)

func (r *run) regexMatch(pattern, text string) (bool, error) {
	expression, err := r.meter.Regexp(pattern, text)
	if err != nil {
		return false, err
	}
	return expression.MatchString(text), nil
}

func (r *run) regexFind(pattern, text string) (string, error) {
	expression, err := r.meter.Regexp(pattern, text)
	if err != nil {
		return "", err
	}
	return expression.FindString(text), nil
}

func (r *run) regexFindAll(pattern, text string, limit int) ([]string, error) {
	expression, err := r.meter.Regexp(pattern, text)
	if err != nil {
		return nil, err
	}
	if err := r.chargeMatches(expression, text); err != nil {
		return nil, err
	}
	return expression.FindAllString(text, limit), nil
}

func (r *run) regexSplit(pattern, text string, limit int) ([]string, error) {
	expression, err := r.meter.Regexp(pattern, text)
	if err != nil {
		return nil, err
	}
	if err := r.chargeMatches(expression, text); err != nil {
		return nil, err
	}
	return expression.Split(text, limit), nil
}

// regexReplaceAll replaces matches by a text in which $1 or ${name} refer to groups of the match.
func (r *run) regexReplaceAll(pattern, text, replacement string) (string, error) {
	return r.replaceMatches(pattern, text, replacement, func(e *regexp.Regexp, result []byte, match []int) []byte {
		return e.ExpandString(result, replacement, text, match)
	})
}

func (r *run) regexReplaceAllLiteral(pattern, text, replacement string) (string, error) {
	return r.replaceMatches(pattern, text, replacement, func(_ *regexp.Regexp, result []byte, _ []int) []byte {
		return append(result, replacement...)
	})
}

// chargeMatches charges for the maximum number of matches in a text. Each takes two numbers per group.
func (r *run) chargeMatches(expression *regexp.Regexp, text string) error {
	return r.buildRepeated(int64(len(text))+1, int64(16*(expression.NumSubexp()+1)))
}

// replaceMatches builds the result match by match, so that it stops as soon as the result is too large.
func (r *run) replaceMatches(pattern, text, replacement string, replace func(*regexp.Regexp, []byte, []int) []byte) (string, error) {
	expression, err := r.meter.Regexp(pattern, text)
	if err != nil {
		return "", err
	}
	if err := r.chargeMatches(expression, text); err != nil {
		return "", err
	}
	references := int64(strings.Count(replacement, "$"))
	var result []byte
	last := 0
	for _, match := range expression.FindAllStringSubmatchIndex(text, -1) {
		longest := int64(match[0]-last+len(replacement)) + references*int64(match[1]-match[0])
		if err := r.meter.Build(longest); err != nil {
			return "", err
		}
		result = append(result, text[last:match[0]]...)
		result = replace(expression, result, match)
		last = match[1]
	}
	return string(append(result, text[last:]...)), r.meter.Build(int64(len(text) - last))
}
