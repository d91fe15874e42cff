// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Command trial tries whether this machine can run a node. Its exit code is 0 if the machine can, 3 if only the printed Debian packages are
// missing, and otherwise 1 after a message with the reason.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"espalier.dev/cmd/espalier/internal/node"
)

const (
	// limit is generous even for a slow machine.
	limit = 5 * time.Minute

	unfit, lacksPackages = 1, 3
)

func main() {
	if code, known := node.TrialPart(os.Args[1:]); known {
		os.Exit(code)
	}
	os.Exit(try())
}

func try() int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	program, err := os.Executable()
	if err == nil {
		err = node.Try(ctx, program)
	}
	if err == nil {
		return 0
	}
	var packages *node.PackagesError
	if errors.As(err, &packages) {
		fmt.Println(strings.Join(packages.Names, " "))
		return lacksPackages
	}
	fmt.Fprintln(os.Stderr, err)
	return unfit
}
