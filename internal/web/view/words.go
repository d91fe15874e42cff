// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"

	"espalier.dev/internal/explain"
	"espalier.dev/internal/objecttree"
)

var harmless = regexp.MustCompile(`^[\w@%+=:,./~-]+$`)

// words joins arguments into a command line. Names come from the cluster, so each argument is quoted for a shell, and cannot steer the
// terminal that it is pasted into.
func words(arguments ...string) string {
	quoted := make([]string, 0, len(arguments))
	for _, argument := range arguments {
		argument = strings.Map(printable, argument)
		if !harmless.MatchString(argument) {
			argument = "'" + strings.ReplaceAll(argument, "'", `'\''`) + "'"
		}
		quoted = append(quoted, argument)
	}
	return strings.Join(quoted, " ")
}

func printable(r rune) rune {
	if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) {
		return -1
	}
	return r
}

// command returns a command of our command line, for a namespace.
func command(namespace string, arguments ...string) string {
	return words(append(append([]string{"espalier"}, arguments...), "-n", namespace)...)
}

// commandsOf returns those of an advice, in the order in which `espalier why` prints them.
func commandsOf(namespace string, advice explain.Advice) []string {
	commands := []string{}
	for _, arguments := range advice.Kubectl {
		commands = append(commands, words(append(append([]string{"kubectl"}, arguments...), "-n", namespace)...))
	}
	for _, arguments := range advice.Ours {
		commands = append(commands, command(namespace, arguments...))
	}
	return commands
}

// firstLine returns the part of a text that fits into a sentence; the whole text appears beside it.
func firstLine(text string) string {
	first, rest, _ := strings.Cut(strings.TrimSpace(text), "\n")
	if rest != "" {
		return strings.TrimRight(first, " \r") + " …"
	}
	return first
}

// titleOf returns the display name of an object: the name that the object above gives it, or its own.
func titleOf(node *objecttree.Node) string {
	if node.As != "" {
		return node.As
	}
	return node.Name()
}

// holderOf returns the installation that an object belongs to, or the highest object if there is none.
func holderOf(node *objecttree.Node) *objecttree.Node {
	for node.Kind != objecttree.Installation && node.Above != nil {
		node = node.Above
	}
	return node
}

// counted returns a number with its noun.
func counted(number int, one, many string) string {
	if number == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", number, many)
}

// told returns progress in words, with the failures if there are any.
func (p Progress) told() string {
	text := fmt.Sprintf("%d of %s done", p.Done, counted(p.All, "deploy item", "deploy items"))
	if p.Failed > 0 {
		text += fmt.Sprintf(", %d failed", p.Failed)
	}
	return text
}
