// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package connect

import (
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"espalier.dev/internal/cli/plain"
	"espalier.dev/internal/explain"
)

// secretFlags are never repeated on a screen.
var secretFlags = []string{"token", "password"}

// Suggest returns one of our commands for the user to copy. It reaches the same cluster and the given namespace, or all namespaces if the
// arguments contain --all-namespaces or -A. The arguments may come from the cluster: each is quoted.
func (a *Access) Suggest(namespace string, arguments ...string) string {
	return a.suggest(a.cmd.Root().CommandPath(), namespace, arguments)
}

// SuggestKubectl returns a command of kubectl for the user to copy: of the one that is built in, unless ours runs as a
// plugin of another.
func (a *Access) SuggestKubectl(namespace string, arguments ...string) string {
	program, root := "kubectl", a.cmd.Root()
	builtIn, _, err := root.Find([]string{program})
	if err == nil && builtIn != root && root.CommandPath() == root.Name() {
		program = root.Name() + " " + program
	}
	return a.suggest(program, namespace, arguments)
}

func (a *Access) suggest(program, namespace string, arguments []string) string {
	words := []string{program}
	for _, argument := range arguments {
		words = append(words, Quote(argument))
	}
	everywhere := slices.Contains(arguments, "--"+allNamespacesFlag) || slices.Contains(arguments, "-A")
	if !everywhere && namespace != "" && a.mustName(namespace) {
		words = append(words, "-n", Quote(namespace))
	}
	a.cmd.Flags().Visit(func(flag *pflag.Flag) {
		if !slices.Contains(a.connection, flag.Name) || flag.Name == "namespace" || slices.Contains(secretFlags, flag.Name) {
			return
		}
		for _, value := range valuesOf(flag) {
			words = append(words, "--"+flag.Name+"="+Quote(value))
		}
	})
	return strings.Join(words, " ")
}

// mustName reports whether a command has to name a namespace to reach it: the user has named one, or works in another.
func (a *Access) mustName(namespace string) bool {
	if a.allNamespaces || a.cmd.Flags().Changed("namespace") {
		return true
	}
	own, err := a.Namespace()
	return err == nil && own != namespace
}

// valuesOf returns the values of a flag, of which some can be repeated.
func valuesOf(flag *pflag.Flag) []string {
	if several, ok := flag.Value.(pflag.SliceValue); ok {
		return several.GetSlice()
	}
	return []string{flag.Value.String()}
}

var harmless = regexp.MustCompile(`^[\w@%+=:,./~-]+$`)

// Quote makes a value fit for a shell, and for the screen from which it is copied.
func Quote(value string) string {
	if value = plain.Line(value); harmless.MatchString(value) {
		return value
	}
	return "'" + strings.ReplaceAll(value, "'", `'\''`) + "'"
}

// Commands returns advice as commands for the user to copy.
func (a *Access) Commands(namespace string, advice explain.Advice) []string {
	var commands []string
	for _, arguments := range advice.Kubectl {
		commands = append(commands, a.SuggestKubectl(namespace, arguments...))
	}
	for _, arguments := range advice.Ours {
		commands = append(commands, a.Suggest(namespace, arguments...))
	}
	return commands
}
