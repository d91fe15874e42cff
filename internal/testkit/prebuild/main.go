// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Command prebuild builds the programs that tests start ahead of the tests, whose time limits a cold build would exceed, and
// prints their paths: those that are named, or all but those of a node. One is built after the other, because each build uses all
// cores. With -files, it builds nothing and prints the folders with the sources of the third-party programs that are named.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"slices"

	"espalier.dev/internal/testkit/program"
)

func main() {
	files := flag.Bool("files", false, "print the folders with the sources, and build nothing")
	flag.Parse()
	if err := printPaths(context.Background(), flag.Args(), *files); err != nil {
		fmt.Fprintln(os.Stderr, "prebuild:", err)
		os.Exit(1)
	}
}

func printPaths(ctx context.Context, names []string, files bool) error {
	chosen, err := choose(names)
	if err != nil {
		return err
	}
	for _, p := range chosen {
		path, err := pathOf(ctx, p, files)
		if err != nil {
			return err
		}
		fmt.Println(path)
	}
	return nil
}

func pathOf(ctx context.Context, p program.Program, files bool) (string, error) {
	if files {
		return p.Files(ctx)
	}
	return p.Binary(ctx, os.Stderr)
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
