// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"fmt"
	"regexp"
	"strings"

	"espalier.dev/internal/explain"
	"espalier.dev/internal/objecttree"
)

var harmless = regexp.MustCompile(`^[\w@%+=:,./~-]+$`)

// words makes a command line out of arguments. Names come from the cluster, so each is made fit for a shell.
func words(arguments ...string) string {
	quoted := make([]string, 0, len(arguments))
	for _, argument := range arguments {
		if !harmless.MatchString(argument) {
			argument = "'" + strings.ReplaceAll(argument, "'", `'\''`) + "'"
		}
		quoted = append(quoted, argument)
	}
	return strings.Join(quoted, " ")
}

// command is one of our command line, for a namespace.
func command(namespace string, arguments ...string) string {
	return words(append(append([]string{"espalier"}, arguments...), "-n", namespace)...)
}

// commandsOf are those of an advice, in the order in which `espalier why` prints them.
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

// firstLine is the part of a text that fits into a sentence; the whole text stands beside it.
func firstLine(text string) string {
	first, rest, _ := strings.Cut(strings.TrimSpace(text), "\n")
	if rest != "" {
		return strings.TrimRight(first, " \r") + " …"
	}
	return first
}

// titleOf is what people call an object: the name that the object above gives to it, or its own.
func titleOf(node *objecttree.Node) string {
	if node.As != "" {
		return node.As
	}
	return node.Name()
}

// holderOf is the installation that an object belongs to, or the highest object if there is none.
func holderOf(node *objecttree.Node) *objecttree.Node {
	for node.Kind != objecttree.Installation && node.Above != nil {
		node = node.Above
	}
	return node
}

// counted is a number with its noun.
func counted(number int, one, many string) string {
	if number == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", number, many)
}

// told is progress in words, with the failures if there are some.
func (p Progress) told() string {
	text := fmt.Sprintf("%d of %s done", p.Done, counted(p.All, "deploy item", "deploy items"))
	if p.Failed > 0 {
		text += fmt.Sprintf(", %d failed", p.Failed)
	}
	return text
}
