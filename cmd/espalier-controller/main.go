// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Command espalier-controller runs Espalier's controllers against a cluster.
package main

import (
	"os"

	// The image contains only the program; if the system has CA certificates, those are used.
	_ "golang.org/x/crypto/x509roots/fallback"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	ctrl "sigs.k8s.io/controller-runtime"

	"espalier.dev/internal/cli"
)

func main() {
	streams := genericiooptions.IOStreams{In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr}
	// The context ends with the first signal; a second one ends the process.
	os.Exit(cli.Run(ctrl.SetupSignalHandler(), newCommand(streams)))
}
