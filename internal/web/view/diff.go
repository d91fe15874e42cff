// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"espalier.dev/internal/masking"
)

// Made is an object that a job makes, as far as its blueprint says what it is: JSON values, of which nothing is hidden yet.
type Made struct {
	Ref     Ref
	Title   string
	Content map[string]any
}

const (
	// around is how many lines are shown before and after a change.
	around = 3
	// maxDiffLines bounds what is shown of an object.
	maxDiffLines = 2000
	// maxCells bounds the work to find out which lines are the same. Of larger objects only beginning and end are compared.
	maxCells = 4 << 20
)

// The changes of objects.
const (
	changeCreate = "create"
	changeUpdate = "update"
	changeDelete = "delete"
)

// NewDiff says which objects a job would create, update and delete. Secrets are masked on both sides, and so is what stands today where a
// secret would stand tomorrow: it may be the former value of the same secret, which nobody knows any more.
func NewDiff(before, after []Made, secrets *masking.Values) []ObjectDiff {
	today := map[Ref]Made{}
	for _, made := range before {
		today[made.Ref] = made
	}
	diffs := []ObjectDiff{}
	for _, made := range after {
		was, exists := today[made.Ref]
		delete(today, made.Ref)
		if diff := diffOf(was, made, exists, secrets); len(diff.Lines) > 0 {
			diffs = append(diffs, diff)
		}
	}
	gone := slices.SortedFunc(maps.Values(today), func(a, b Made) int { return cmp.Compare(idOf(a.Ref), idOf(b.Ref)) })
	for _, made := range gone {
		shown, _ := secrets.Value(made.Content)
		diffs = append(diffs, ObjectDiff{Ref: made.Ref, Title: made.Title, Change: changeDelete, Lines: diffLines(linesOf(shown), nil)})
	}
	return diffs
}

func diffOf(was, made Made, exists bool, secrets *masking.Values) ObjectDiff {
	diff := ObjectDiff{Ref: made.Ref, Title: made.Title, Change: changeUpdate}
	tomorrow, _ := secrets.Value(made.Content)
	if !exists {
		diff.Change, diff.Lines = changeCreate, diffLines(nil, linesOf(tomorrow))
		return diff
	}
	today, _ := secrets.Value(was.Content)
	same := slices.Equal(linesOf(was.Content), linesOf(made.Content))
	today = hideBeside(today, tomorrow, made.Content)
	diff.Lines = diffLines(linesOf(today), linesOf(tomorrow))
	if len(diff.Lines) == 0 && !same {
		diff.Lines = []DiffLine{{Op: " ", Text: "# Only values change that are not shown."}}
	}
	return diff
}

// hideBeside masks the values of an object in whose place another one has a secret: where its masked form is not what it is.
func hideBeside(value, masked, raw any) any {
	switch m := masked.(type) {
	case map[string]any:
		fields, ok := value.(map[string]any)
		inner, _ := raw.(map[string]any)
		if !ok {
			return hideIfSecret(value, masked, raw)
		}
		hidden := make(map[string]any, len(fields))
		for key, field := range fields {
			if other, exists := m[key]; exists {
				field = hideBeside(field, other, inner[key])
			}
			hidden[key] = field
		}
		return hidden
	case []any:
		elements, ok := value.([]any)
		inner, _ := raw.([]any)
		if !ok || len(inner) != len(m) {
			return hideIfSecret(value, masked, raw)
		}
		hidden := slices.Clone(elements)
		for i := range hidden {
			hidden[i] = hideElement(hidden[i], i, m, inner)
		}
		return hidden
	}
	return hideIfSecret(value, masked, raw)
}

// hideElement masks an element of a list by the one in its place, or by the last one if the list was longer.
func hideElement(value any, i int, masked, raw []any) any {
	if len(masked) == 0 {
		return value
	}
	i = min(i, len(masked)-1)
	return hideBeside(value, masked[i], raw[i])
}

func hideIfSecret(value, masked, raw any) any {
	if fmt.Sprint(masked) == fmt.Sprint(raw) {
		return value
	}
	return masking.All(value)
}

func linesOf(content any) []string {
	text, err := yaml.Marshal(content)
	if err != nil {
		return []string{fmt.Sprintf("# This cannot be written as YAML: %v", err)}
	}
	return strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
}

// diffLines are the lines that go, come and stay around these; none if nothing changes.
func diffLines(before, after []string) []DiffLine {
	all := compared(before, after)
	near := make([]bool, len(all))
	for i, line := range all {
		if line.Op != " " {
			for j := max(0, i-around); j <= min(len(all)-1, i+around); j++ {
				near[j] = true
			}
		}
	}
	var shown []DiffLine
	for i, line := range all {
		switch {
		case near[i]:
			shown = append(shown, line)
		case i > 0 && near[i-1] && slices.Contains(near[i:], true):
			shown = append(shown, DiffLine{Op: " ", Text: "..."})
		}
		if len(shown) == maxDiffLines {
			return append(shown, DiffLine{Op: " ", Text: "# There is more."})
		}
	}
	return shown
}

// compared lists the lines of both texts, those that are the same once.
func compared(before, after []string) []DiffLine {
	head := 0
	for head < min(len(before), len(after)) && before[head] == after[head] {
		head++
	}
	tail := 0
	for tail < min(len(before), len(after))-head && before[len(before)-1-tail] == after[len(after)-1-tail] {
		tail++
	}
	lines := marked(" ", before[:head])
	lines = append(lines, middle(before[head:len(before)-tail], after[head:len(after)-tail])...)
	return append(lines, marked(" ", before[len(before)-tail:])...)
}

func marked(op string, texts []string) []DiffLine {
	lines := make([]DiffLine, 0, len(texts))
	for _, text := range texts {
		lines = append(lines, DiffLine{Op: op, Text: text})
	}
	return lines
}

// middle finds the longest common sequence of lines, unless that is too much work.
func middle(before, after []string) []DiffLine {
	if (len(before)+1)*(len(after)+1) > maxCells {
		return append(marked("-", before), marked("+", after)...)
	}
	common := commonLengths(before, after)
	var lines []DiffLine
	i, j := 0, 0
	for i < len(before) && j < len(after) {
		switch {
		case before[i] == after[j]:
			lines = append(lines, DiffLine{Op: " ", Text: before[i]})
			i, j = i+1, j+1
		case common[i+1][j] >= common[i][j+1]:
			lines = append(lines, DiffLine{Op: "-", Text: before[i]})
			i++
		default:
			lines = append(lines, DiffLine{Op: "+", Text: after[j]})
			j++
		}
	}
	return append(append(lines, marked("-", before[i:])...), marked("+", after[j:])...)
}

// commonLengths has the length of the longest common sequence of what follows each pair of lines.
func commonLengths(before, after []string) [][]int32 {
	lengths := make([][]int32, len(before)+1)
	for i := range lengths {
		lengths[i] = make([]int32, len(after)+1)
	}
	for i := len(before) - 1; i >= 0; i-- {
		for j := len(after) - 1; j >= 0; j-- {
			if before[i] == after[j] {
				lengths[i][j] = lengths[i+1][j+1] + 1
			} else {
				lengths[i][j] = max(lengths[i+1][j], lengths[i][j+1])
			}
		}
	}
	return lengths
}
