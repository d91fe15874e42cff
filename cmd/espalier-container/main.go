// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Command espalier-container runs in the pods of the container deployer, beside the image of the deploy item: "init" before it, and "wait"
// until it has ended.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"espalier.dev/internal/deployer/container/inside"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) == 1 {
		switch args[0] {
		case "init":
			return inside.Init(os.Getenv)
		case "wait":
			stopped := make(chan os.Signal, 1)
			signal.Notify(stopped, syscall.SIGTERM, syscall.SIGINT)
			return inside.Wait(context.Background(), os.Getenv, stopped)
		}
	}
	return fmt.Errorf("the command is missing: use espalier-container init or espalier-container wait")
}
