// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package gotemplate

import (
	"strconv"
	"strings"

	"github.com/Masterminds/semver/v3"

	"espalier.dev/internal/template"
)

func (r *run) until(count int) ([]int, error) {
	step := 1
	if count < 0 {
		step = -1
	}
	return r.untilStep(0, count, step)
}

// untilStep returns the numbers from start up to, but excluding, stop.
func (r *run) untilStep(start, stop, step int) ([]int, error) {
	count := countSteps(int64(start), int64(stop), int64(step))
	if err := r.buildRepeated(count, itemSize); err != nil {
		return nil, err
	}
	numbers := make([]int, count)
	for i := range numbers {
		numbers[i] = start + i*step
	}
	return numbers, nil
}

// countSteps returns the number of steps from start up to, but excluding, stop, or a number beyond every limit.
func countSteps(start, stop, step int64) int64 {
	if step == 0 || start == stop || (stop > start) != (step > 0) {
		return 0
	}
	distance, width := uint64(stop)-uint64(start), uint64(step)
	if step < 0 {
		distance, width = -distance, -width
	}
	return int64(min((distance-1)/width+1, 1<<62))
}

// sequence writes the numbers from the first to the last parameter; a middle parameter is the step.
func (r *run) sequence(params ...int) (string, error) {
	start, step, end := 1, 1, 0
	switch len(params) {
	case 1:
		end = params[0]
	case 2:
		start, end = params[0], params[1]
	case 3:
		start, step, end = params[0], params[1], params[2]
	default:
		return "", nil
	}
	direction := 1
	if end < start {
		direction = -1
	}
	if len(params) < 3 {
		step = direction
	}
	numbers, err := r.untilStep(start, end+direction, step)
	if err != nil {
		return "", err
	}
	texts := make([]string, len(numbers))
	for i, number := range numbers {
		texts[i] = strconv.Itoa(number)
	}
	return strings.Join(texts, " "), nil
}

const (
	// maxVersion is the maximum length of a version.
	maxVersion = 256
	// costOfVersion is the cost of parsing one in steps.
	costOfVersion = 20
)

// Version is a semantic version. Unlike that of the library, it is a value, with the same form wherever it is stored.
type Version struct {
	parsed semver.Version
}

func (r *run) version(text string) (Version, error) {
	if len(text) > maxVersion {
		return Version{}, template.Problemf("a version is longer than %d bytes", maxVersion)
	}
	parsed, err := semver.NewVersion(text)
	if err != nil {
		return Version{}, template.Problemf("it is not a semantic version")
	}
	return Version{*parsed}, r.meter.Step(costOfVersion)
}

// Major returns the first number.
func (v Version) Major() uint64 { return v.parsed.Major() }

// Minor returns the second number.
func (v Version) Minor() uint64 { return v.parsed.Minor() }

// Patch returns the third number.
func (v Version) Patch() uint64 { return v.parsed.Patch() }

// Prerelease returns the part after the hyphen.
func (v Version) Prerelease() string { return v.parsed.Prerelease() }

// Metadata returns the part after the plus sign.
func (v Version) Metadata() string { return v.parsed.Metadata() }

// Original returns the text that the version was parsed from.
func (v Version) Original() string { return v.parsed.Original() }

// String returns the version in its canonical form.
func (v Version) String() string { return v.parsed.String() }

// Compare returns -1, 0 or 1.
func (v Version) Compare(other Version) int { return v.parsed.Compare(&other.parsed) }

// Equal reports whether two versions are the same.
func (v Version) Equal(other Version) bool { return v.parsed.Equal(&other.parsed) }

// LessThan reports whether this version comes before another one.
func (v Version) LessThan(other Version) bool { return v.parsed.LessThan(&other.parsed) }

// GreaterThan reports whether this version comes after another one.
func (v Version) GreaterThan(other Version) bool { return v.parsed.GreaterThan(&other.parsed) }
