// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package template

import (
	"fmt"
	"strconv"
	"strings"
)

// maxWidth is the maximum width or precision in a format.
const maxWidth = 1000

// Decimal is a number that is formatted as in JSON.
type Decimal float64

// String returns the number without an exponent, unless it is very large or very small.
func (d Decimal) String() string { return FormatFloat(float64(d)) }

// Format is fmt.Sprintf for formats and arguments of a template. Before it formats, it charges for the costly parts of the format:
// wide fields, and arguments that occur several times. It may replace arguments in place.
func (m *Meter) Format(format string, args []any) (string, error) {
	demand, err := readFormat(format)
	if err != nil {
		return "", err
	}
	_, before := m.Used()
	if err := m.Measure(args); err != nil {
		return "", err
	}
	_, after := m.Used()
	if err := m.Build(int64(len(format)) + demand.width + demand.repeated*(after-before)); err != nil {
		return "", err
	}
	for i, arg := range args {
		if number, ok := arg.(float64); ok && demand.plainText {
			args[i] = Decimal(number)
		}
	}
	return fmt.Sprintf(format, args...), nil
}

// formatDemand is the cost of a format beyond its own length and its arguments.
type formatDemand struct {
	// width is the sum of all widths and precisions.
	width int64
	// repeated counts the verbs that select their argument by an index.
	repeated int64
	// plainText reports whether all verbs write their argument as text.
	plainText bool
}

func readFormat(format string) (formatDemand, error) {
	demand := formatDemand{plainText: true}
	for i := 0; i < len(format); i++ {
		if format[i] != '%' {
			continue
		}
		length := strings.IndexFunc(format[i+1:], isVerb)
		if length < 0 {
			break
		}
		end := i + 1 + length
		if err := demand.add(format[i+1:end], format[end]); err != nil {
			return demand, err
		}
		i = end
	}
	return demand, nil
}

// isVerb reports whether a character ends a directive, unlike its flags, widths and indexes.
func isVerb(char rune) bool {
	return !strings.ContainsRune("+-# 0123456789.[]*", char)
}

func (d *formatDemand) add(directive string, verb byte) error {
	if strings.Contains(directive, "*") {
		return Problemf("a format cannot take its width from an argument")
	}
	if verb == 'p' || verb == 'v' && strings.Contains(directive, "#") {
		return Problemf("a format cannot show how a value is kept in memory")
	}
	if strings.Contains(directive, "[") {
		d.repeated++
	}
	d.plainText = d.plainText && strings.IndexByte("svq%", verb) >= 0
	for _, digits := range strings.FieldsFunc(directive, notDigit) {
		width, err := strconv.Atoi(digits)
		if err != nil || width > maxWidth {
			return Problemf("a width in a format is greater than %d", maxWidth)
		}
		d.width += int64(width)
	}
	return nil
}

func notDigit(char rune) bool { return char < '0' || char > '9' }
