// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package pullrequest

import (
	"fmt"
	"slices"
	"strings"
)

// Trailers of commits.
const (
	// KeyTrailer holds the key of the promotion. The description of the pull request has the same line.
	KeyTrailer = "Promotion-Key"
	// BaseTrailer holds the commit on which ours is based, to detect a commit that was rebased.
	BaseTrailer = "Promotion-Base"
)

// title is the title that existing tools expect.
func (r Request) title() string {
	return shorten(oneLine(fmt.Sprintf("Promote %s/%s in %s to %s", r.Marker.Namespace, r.Marker.Pipeline, r.Marker.Environment, r.Revision)))
}

// message of the commit.
func (r Request) message(baseCommit string) string {
	return fmt.Sprintf("%s\n\n%s: %s\n%s: %s\n", r.title(), KeyTrailer, r.Key, BaseTrailer, baseCommit)
}

// maxListed is the maximum size of the list of changed files, in bytes: Azure DevOps limits descriptions to 4000 characters.
const maxListed = 2000

// body returns the description of the pull request. Existing tools find it by the line with namespace, pipeline and environment, which must
// therefore stand alone and unchanged.
func (r Request) body(files []string) string {
	var text strings.Builder
	fmt.Fprintf(
		&text,
		"This promotes %s of the pipeline %s to %s.\n",
		code(r.Revision),
		code(r.Marker.Namespace+"/"+r.Marker.Pipeline),
		code(r.Marker.Environment),
	)
	if r.Note != "" {
		fmt.Fprintf(&text, "\n%s\n", r.Note)
	}
	text.WriteString("\nChanged files:\n\n")
	slices.Sort(files)
	begun := text.Len()
	for i, file := range files {
		if text.Len()-begun > maxListed-maxShown {
			fmt.Fprintf(&text, "- and %d more\n", len(files)-i)
			break
		}
		fmt.Fprintf(&text, "- %s\n", code(file))
	}
	fmt.Fprintf(
		&text,
		"\n<details>\n<summary>metadata</summary>\n\nPlease do not edit this part: it identifies the pull request.\n\n%s\n%s: %s\n%s: %s\n%s: %d\n\n</details>\n",
		oneLine(
			r.Marker.Namespace+"/"+r.Marker.Pipeline+"/"+r.Marker.Environment,
		),
		KeyTrailer,
		r.Key,
		revisionLine,
		oneLine(r.Revision),
		runLine,
		r.Run,
	)
	return text.String()
}

// code quotes a text so that it is shown unchanged.
func code(text string) string {
	return "`" + strings.ReplaceAll(shorten(oneLine(text)), "`", "'") + "`"
}

// maxShown is the maximum length of a title at providers.
const maxShown = 250

func shorten(text string) string {
	if runes := []rune(text); len(runes) > maxShown {
		return string(runes[:maxShown-3]) + "..."
	}
	return text
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// hasKey reports whether a description names the key.
func hasKey(body, key string) bool {
	for line := range strings.Lines(body) {
		if strings.TrimSpace(line) == KeyTrailer+": "+key {
			return true
		}
	}
	return false
}
