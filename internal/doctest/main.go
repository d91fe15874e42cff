// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Command doctest runs the commands that a Markdown page shows, so that the page cannot promise what does not work.
//
// It runs, in order, each block of shell code that follows one of these comments:
//
//	<!-- run -->
//	<!-- run in background until "some text" -->
//
// It compares what such a block prints with the block of text that follows this comment, if there is one, line by line:
//
//	<!-- output; varies: jw3m2 2s -->
//
// The words that vary, such as names and ages, stand for any others. Three dots stand for a part of a line, and alone on a line for any
// number of lines.
//
// The blocks run in Bash, as if typed into one terminal after the other: exported variables and the working directory
// carry over, and the first command that fails ends the run. A block in the background has its own terminal. The
// next block starts once it has printed the text; at the end it gets what Ctrl-C sends and must stop without an error.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: doctest PAGE.md")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := runPage(ctx, os.Args[1]); err != nil {
		fmt.Fprintf(os.Stderr, "doctest: %s: %v\n", os.Args[1], err)
		os.Exit(1)
	}
}

func runPage(ctx context.Context, path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	blocks, err := ParsePage(string(text))
	if err != nil {
		return err
	}
	if len(blocks) == 0 {
		return fmt.Errorf("no block is marked with <!-- run -->")
	}
	return Run(ctx, blocks, os.Stdout)
}
