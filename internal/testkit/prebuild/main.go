// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Command prebuild builds the programs that tests start ahead of the tests, whose time limits a cold build would exceed, and
// prints their paths: those that are named, or all but those of a node. One is built after the other, because each build takes all
// processors.
package main

import (
	"context"
	"fmt"
	"os"
	"slices"

	"espalier.dev/internal/testkit/program"
)

func main() {
	if err := build(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "prebuild:", err)
		os.Exit(1)
	}
}

func build(ctx context.Context, names []string) error {
	chosen, err := choose(names)
	if err != nil {
		return err
	}
	for _, p := range chosen {
		path, err := p.Binary(ctx, os.Stderr)
		if err != nil {
			return err
		}
		fmt.Println(path)
	}
	return nil
}

func choose(names []string) ([]program.Program, error) {
	if len(names) == 0 {
		return program.All, nil
	}
	var chosen []program.Program
	known := append(slices.Clone(program.All), program.Node, program.Pause)
	for _, name := range names {
		i := slices.IndexFunc(known, func(p program.Program) bool { return p.Name == name })
		if i < 0 {
			return nil, fmt.Errorf("there is no program %q to build", name)
		}
		chosen = append(chosen, known[i])
	}
	return chosen, nil
}
