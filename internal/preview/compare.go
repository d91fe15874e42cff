// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package preview

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"espalier.dev/internal/masking"
)

// Made is an object that a job makes, as far as its blueprint determines it: JSON values, not masked yet.
type Made struct {
	Kind, Namespace, Name string
	// Title is its name in the blueprint.
	Title   string
	Content map[string]any
}

func (m Made) id() string { return m.Kind + "/" + m.Namespace + "/" + m.Name }

// Change is an object that a job would create, update or delete, without secrets.
type Change struct {
	Kind, Namespace, Name string
	Title                 string
	// Within is the path from the job's installation to the one whose blueprint makes the object, such as shop/database; it is empty
	// for objects made by the blueprint of the job's installation itself. For objects made by a chart, it ends with the deploy item.
	Within string
	// What is Create, Update or Delete.
	What  string
	Lines []Line
}

// Line is a line of YAML. Op is + for an added line, - for a removed one, and a space for an unchanged one.
type Line struct{ Op, Text string }

// The kinds of changes.
const (
	Create = "create"
	Update = "update"
	Delete = "delete"
)

const (
	// around is the number of lines shown before and after a change.
	around = 3
	// maxLines bounds the lines shown of an object.
	maxLines = 2000
	// maxCells bounds the work to find common lines. For larger objects, only common lines at the beginning and the end are
	// found.
	maxCells = 4 << 20
)

// Compare returns the objects that a job would create, update and delete. Secrets are masked on both sides. So is the current value in a
// place where the new object has a secret: it may be the former, no longer known, value of the same secret.
func Compare(before, after []Made, secrets *masking.Values) []Change {
	today := map[string]Made{}
	for _, made := range before {
		today[made.id()] = made
	}
	changes := []Change{}
	for _, made := range after {
		was, exists := today[made.id()]
		delete(today, made.id())
		if change := changeOf(was, made, exists, secrets); len(change.Lines) > 0 {
			changes = append(changes, change)
		}
	}
	for _, made := range slices.SortedFunc(maps.Values(today), func(a, b Made) int { return cmp.Compare(a.id(), b.id()) }) {
		change := about(made, Delete)
		change.Lines = compareLines(linesOf(made.shown(secrets)), nil)
		changes = append(changes, change)
	}
	return changes
}

func about(made Made, what string) Change {
	return Change{Kind: made.Kind, Namespace: made.Namespace, Name: made.Name, Title: made.Title, What: what}
}

// shown returns the content of an object without secrets. No value of a Secret is shown, wherever it comes from.
func (m Made) shown(secrets *masking.Values) any {
	shown, _ := secrets.Value(m.Content)
	if fields, ok := shown.(map[string]any); ok && m.Kind == "Secret" {
		for _, key := range []string{"data", "stringData"} {
			if content, exists := fields[key]; exists {
				fields[key] = masking.All(content)
			}
		}
	}
	return shown
}

func changeOf(was, made Made, exists bool, secrets *masking.Values) Change {
	change := about(made, Update)
	tomorrow := made.shown(secrets)
	if !exists {
		change.What, change.Lines = Create, compareLines(nil, linesOf(tomorrow))
		return change
	}
	today := HideBeside(was.shown(secrets), tomorrow, made.Content)
	change.Lines = compareLines(linesOf(today), linesOf(tomorrow))
	if len(change.Lines) == 0 && !slices.Equal(linesOf(was.Content), linesOf(made.Content)) {
		change.Lines = []Line{{Op: " ", Text: "# Only values change that are not shown."}}
	}
	return change
}

// HideBeside masks the values of an object where another one has a secret: where the other one's masked form differs from
// its raw form.
func HideBeside(value, masked, raw any) any {
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
				field = HideBeside(field, other, inner[key])
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

// hideElement masks an element of a list according to the element at the same index, or to the last one if the list was
// longer.
func hideElement(value any, i int, masked, raw []any) any {
	if len(masked) == 0 {
		return value
	}
	i = min(i, len(masked)-1)
	return HideBeside(value, masked[i], raw[i])
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

// compareLines returns the removed, added and surrounding lines; none if nothing changes.
func compareLines(before, after []string) []Line {
	all := compared(before, after)
	near := make([]bool, len(all))
	for i, line := range all {
		if line.Op != " " {
			for j := max(0, i-around); j <= min(len(all)-1, i+around); j++ {
				near[j] = true
			}
		}
	}
	var shown []Line
	for i, line := range all {
		switch {
		case near[i]:
			shown = append(shown, line)
		case i > 0 && near[i-1] && slices.Contains(near[i:], true):
			shown = append(shown, Line{Op: " ", Text: "..."})
		}
		if len(shown) == maxLines {
			return append(shown, Line{Op: " ", Text: "# There is more."})
		}
	}
	return shown
}

// AllLines lists the lines of both texts, common lines once.
func AllLines(before, after []string) []Line { return compared(before, after) }

// compared lists the lines of both texts, common lines once.
func compared(before, after []string) []Line {
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

func marked(op string, texts []string) []Line {
	lines := make([]Line, 0, len(texts))
	for _, text := range texts {
		lines = append(lines, Line{Op: op, Text: text})
	}
	return lines
}

// middle finds the longest common sequence of lines, unless that is too much work.
func middle(before, after []string) []Line {
	if (len(before)+1)*(len(after)+1) > maxCells {
		return append(marked("-", before), marked("+", after)...)
	}
	common := commonLengths(before, after)
	var lines []Line
	i, j := 0, 0
	for i < len(before) && j < len(after) {
		switch {
		case before[i] == after[j]:
			lines = append(lines, Line{Op: " ", Text: before[i]})
			i, j = i+1, j+1
		case common[i+1][j] >= common[i][j+1]:
			lines = append(lines, Line{Op: "-", Text: before[i]})
			i++
		default:
			lines = append(lines, Line{Op: "+", Text: after[j]})
			j++
		}
	}
	return append(append(lines, marked("-", before[i:])...), marked("+", after[j:])...)
}

// commonLengths returns the length of the longest common sequence of what follows each pair of lines.
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
