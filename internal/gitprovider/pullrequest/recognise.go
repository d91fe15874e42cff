// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package pullrequest

import (
	"strconv"
	"strings"
)

// Lines of descriptions in addition to that of the key. They serve a pipeline that has lost its status.
const (
	revisionLine = "Promotion-Revision"
	runLine      = "Promotion-Run"
)

// Mark is the information in a description about the promotion that the pull request is for. Missing parts are zero.
type Mark struct {
	Environment, Key, Revision string
	Run                        int64
}

// Recognise parses the description of a pull request. It returns false if the pull request is not for the given pipeline.
func Recognise(body, namespace, pipeline string) (Mark, bool) {
	var mark Mark
	for line := range strings.Lines(body) {
		line = strings.TrimSpace(line)
		name, value, _ := strings.Cut(line, ": ")
		switch name {
		case KeyTrailer:
			mark.Key = value
		case revisionLine:
			mark.Revision = value
		case runLine:
			mark.Run, _ = strconv.ParseInt(value, 10, 64)
		default:
			if environment, ours := strings.CutPrefix(line, namespace+"/"+pipeline+"/"); ours && mark.Environment == "" {
				mark.Environment = environment
			}
		}
	}
	return mark, mark.Key != "" && mark.Environment != ""
}

// Marked reports whether a description is one of ours, for any pipeline.
func Marked(body string) bool { return strings.Contains(body, KeyTrailer+": ") }
