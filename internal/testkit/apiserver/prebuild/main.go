// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Command prebuild builds the test API server ahead of the tests, whose time limits a cold build would exceed, and prints its path.
package main

import (
	"context"
	"fmt"
	"os"

	"espalier.dev/internal/testkit/apiserver"
)

func main() {
	path, err := apiserver.Binary(context.Background(), os.Stderr)
	if err != nil {
		fmt.Fprintln(os.Stderr, "prebuild:", err)
		os.Exit(1)
	}
	fmt.Println(path)
}
