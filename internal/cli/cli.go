// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package cli is the command line of Espalier: the root command, and how a command
// ends. Each command is a package below this one. It has an options struct, a function
// New that turns flags and arguments into options, and a function run that does the
// work, so that tests can call either without a process.
//
// Commands that talk to a cluster share packages that stand beside them: connect
// connects as kubectl does, reach looks into target clusters, display prints, and follow
// waits.
//
// Data goes to standard output, everything else to standard error. Exit codes: 0 when
// all went well, 1 for wrong usage and any other error, and whatever a CodedError or a
// Problem says.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"sync"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"espalier.dev/internal/cli/plain"
	"espalier.dev/internal/version"
)

// CodedError is an error that ends the process with a code of its own. Without Err it ends in silence, for a command
// that has said everything already.
type CodedError struct {
	Code int
	Err  error
}

func (e *CodedError) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("exit code %d", e.Code)
	}
	return e.Err.Error()
}

func (e *CodedError) Unwrap() error { return e.Err }

// dropLibraryFlags empties the flag set of the process, once: libraries add their own flags to it when they are initialized, and cobra would
// offer them to users. Tests run several commands at a time.
var dropLibraryFlags = sync.OnceFunc(func() { pflag.CommandLine = pflag.NewFlagSet("espalier", pflag.ContinueOnError) })

// NewRoot returns the command espalier with the given commands below it.
func NewRoot(streams genericiooptions.IOStreams, commands ...*cobra.Command) *cobra.Command {
	dropLibraryFlags()
	root := &cobra.Command{
		Use:   "espalier",
		Short: "Deliver software to Kubernetes, tier by tier",
		Long: `Espalier installs trees of components on Kubernetes, with data flowing between
them, and carries revisions from one environment to the next as each proves healthy.

To try it without a cluster:  espalier up`,
		Version:       version.Get().Version,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetIn(streams.In)
	root.SetOut(streams.Out)
	root.SetErr(streams.ErrOut)
	root.SetFlagErrorFunc(Misused)
	root.AddCommand(commands...)
	return root
}

// Misused adds to an error where the user finds out how to call the command.
func Misused(cmd *cobra.Command, err error) error {
	return fmt.Errorf("%w\nSee '%s --help'", err, cmd.CommandPath())
}

// NameAfter lets help texts call the command as the user did: kubectl runs the binary
// kubectl-espalier for "kubectl espalier".
func NameAfter(root *cobra.Command, binary string) {
	if IsPlugin(binary) {
		root.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl espalier"}
	}
}

// IsPlugin tells by the name of the binary whether it runs as a plugin of kubectl.
func IsPlugin(binary string) bool {
	return strings.TrimSuffix(filepath.Base(binary), ".exe") == "kubectl-espalier"
}

// Run executes the root command and returns the exit code.
func Run(ctx context.Context, root *cobra.Command) int {
	err := root.ExecuteContext(ctx)
	if err == nil {
		return ExitOK
	}
	return report(root.ErrOrStderr(), err)
}

// report prints an error, which may quote texts from a cluster.
func report(w io.Writer, err error) int {
	var coded *CodedError
	if errors.As(err, &coded) && coded.Err == nil {
		return coded.Code
	}
	fmt.Fprintf(w, "error: %s\n", plain.Lines(err.Error()))
	if coded != nil {
		return coded.Code
	}
	var problem *Problem
	if errors.As(err, &problem) {
		return problem.Code
	}
	return ExitError
}
