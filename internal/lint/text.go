// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"bytes"
	"go/format"
	"regexp"
	"slices"
	"strings"
)

func findUnformatted(tree *Tree) []Offence {
	var offences []Offence
	for _, file := range tree.goFiles(everyFile) {
		formatted, err := format.Source(file.Text)
		if err != nil || !bytes.Equal(formatted, file.Text) {
			offences = append(offences, Offence{
				Path:    file.Path,
				Line:    firstDifference(file.Text, formatted),
				Message: "gofmt -w would change this file",
			})
		}
	}
	return offences
}

// firstDifference returns the number of the first line in which two texts differ.
func firstDifference(a, b []byte) int {
	common := 0
	for common < min(len(a), len(b)) && a[common] == b[common] {
		common++
	}
	return 1 + bytes.Count(a[:common], []byte("\n"))
}

const header = "// SPDX-FileCopyrightText: The Espalier authors\n// SPDX-License-Identifier: Apache-2.0\n\n"

func findMissingHeaders(tree *Tree) []Offence {
	var offences []Offence
	for _, file := range tree.goFiles(everyFile) {
		if !hasHeader(file) {
			offences = append(offences, Offence{
				Path:    file.Path,
				Line:    1,
				Message: "the file does not begin with the two SPDX lines and an empty one",
			})
		}
	}
	return offences
}

// hasHeader also accepts a header further down in generated files, because generators put build constraints first.
func hasHeader(file *File) bool {
	if file.IsGenerated() {
		before, _, _ := bytes.Cut(file.Text, []byte("\npackage "))
		return bytes.Contains(before, []byte(strings.TrimSpace(header)))
	}
	return bytes.HasPrefix(file.Text, []byte(header))
}

// textPattern is a regular expression that can match only where one of the hints occurs. Searching for a hint first makes it cheap to
// search every file.
type textPattern struct {
	hints  []string
	regexp *regexp.Regexp
}

var (
	unfinishedWord = regexp.MustCompile(`\b(TODO|FIXME|XXX|HACK)\b`)
	unfinishedMark = textPattern{[]string{"TODO", "FIXME", "XXX", "HACK"}, regexp.MustCompile(`\b(TODO|FIXME|XXX|HACK)\b *[:(]`)}
)

// findUnfinishedWork searches the comments of Go files, and all other files for the usual marks.
func findUnfinishedWork(tree *Tree) []Offence {
	var offences []Offence
	for _, file := range tree.Files {
		if file.Go == nil {
			offences = append(offences, findInLines(file, unfinishedMark, "unfinished work: ")...)
			continue
		}
		for _, group := range file.Go.Comments {
			for _, comment := range group.List {
				if word := unfinishedWord.FindString(comment.Text); word != "" {
					offences = append(offences, tree.offence(file, comment.Pos(), "unfinished work: %s", word))
				}
			}
		}
	}
	return offences
}

// machineFolders contain the files of users and machines.
var machineFolders = []string{"root", "home", "work", "Users"}

// machinePath matches absolute paths below those folders. The preceding text must not make it part of a URL, of a longer path or of a
// variable.
var machinePath = newMachinePath()

func newMachinePath() textPattern {
	pattern := textPattern{regexp: regexp.MustCompile(`(^|[^\w.~})/-])/(` + strings.Join(machineFolders, "|") + `)(/|\b)`)}
	for _, folder := range machineFolders {
		pattern.hints = append(pattern.hints, "/"+folder)
	}
	return pattern
}

func findMachinePaths(tree *Tree) []Offence {
	var offences []Offence
	for _, file := range tree.Files {
		offences = append(offences, findInLines(file, machinePath, "a path of somebody's machine: ")...)
	}
	return offences
}

func findInLines(file *File, pattern textPattern, message string) []Offence {
	hinted := slices.ContainsFunc(pattern.hints, func(hint string) bool { return bytes.Contains(file.Text, []byte(hint)) })
	if !hinted {
		return nil
	}
	var offences []Offence
	line := 0
	for text := range bytes.Lines(file.Text) {
		line++
		if found := pattern.regexp.Find(text); found != nil {
			offences = append(offences, Offence{Path: file.Path, Line: line, Message: message + strings.TrimSpace(string(found))})
		}
	}
	return offences
}
