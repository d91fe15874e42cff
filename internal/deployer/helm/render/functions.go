// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/template"

	"github.com/Masterminds/sprig/v3"
)

const (
	// maxNumbers is the maximum length of the lists that until and untilStep return.
	maxNumbers = 100_000
	// maxText is the maximum length of a text that a function creates from a number.
	maxText = 16 << 20
)

// Functions replace those functions of Helm whose result grows with a number. Charts come from third parties: one number must
// not exhaust the memory.
func Functions() template.FuncMap {
	known := sprig.TxtFuncMap()
	result := template.FuncMap{
		"until":     func(end int) ([]int, error) { return numbers(known, 0, end, sign(end)) },
		"untilStep": func(start, end, step int) ([]int, error) { return numbers(known, start, end, step) },
		"repeat":    repeat,
		"indent":    func(width int, text string) (string, error) { return indent(width, text) },
		"nindent": func(width int, text string) (string, error) {
			indented, err := indent(width, text)
			return "\n" + indented, err
		},
	}
	for _, name := range []string{"randAlphaNum", "randAlpha", "randAscii", "randNumeric"} {
		random, ok := known[name].(func(int) string)
		if !ok {
			continue
		}
		result[name] = func(length int) (string, error) {
			if length < 0 || length > maxText {
				return "", fmt.Errorf("%s: the length must be between 0 and %d", name, maxText)
			}
			return random(length), nil
		}
	}
	return result
}

func sign(number int) int {
	if number < 0 {
		return -1
	}
	return 1
}

func numbers(known template.FuncMap, start, end, step int) ([]int, error) {
	until, ok := known["untilStep"].(func(int, int, int) []int)
	if !ok || step == 0 {
		return []int{}, nil
	}
	if count := (float64(end) - float64(start)) / float64(step); count > maxNumbers {
		return nil, fmt.Errorf("until: more than %d numbers are not allowed", maxNumbers)
	}
	return until(start, end, step), nil
}

func repeat(count int, text string) (string, error) {
	if count < 0 || len(text) > 0 && count > maxText/len(text) {
		return "", fmt.Errorf("repeat: negative count, or a result of more than %d characters", maxText)
	}
	return strings.Repeat(text, count), nil
}

func indent(width int, text string) (string, error) {
	lines := strings.Count(text, "\n") + 1
	if width < 0 || width > maxText/lines {
		return "", fmt.Errorf("indent: the result would have more than %d characters", maxText)
	}
	pad := strings.Repeat(" ", width)
	return pad + strings.ReplaceAll(text, "\n", "\n"+pad), nil
}

func sorted(texts map[string]string) []string { return slices.Sorted(maps.Keys(texts)) }
