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
// Problem says. With -o json or yaml, the error is a document, too.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
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

// dropLibraryFlags empties the flag set of the process, once: libraries add their own flags to it when they are initialized, and cobra
// would offer them to users. Tests run several commands at a time.
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
	help := root.HelpFunc()
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		help(cmd, args)
		fmt.Fprint(cmd.OutOrStdout(), exitCodesHelp(cmd))
	})
	root.AddCommand(commands...)
	return root
}

// Misused adds to an error where the user finds out how to call the command.
func Misused(cmd *cobra.Command, err error) error {
	return &misuse{err: err, command: cmd.CommandPath()}
}

// misuse is an error in a call.
type misuse struct {
	err     error
	command string
}

func (m *misuse) help() string { return m.command + " --help" }

func (m *misuse) Error() string { return fmt.Sprintf("%v\nSee '%s'", m.err, m.help()) }

func (m *misuse) Unwrap() error { return m.err }

// NameAfter lets help texts call the command as the user did: kubectl runs the binary
// kubectl-espalier for "kubectl espalier".
func NameAfter(root *cobra.Command, binary string) {
	if IsPlugin(binary) {
		root.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl espalier"}
	}
}

// Names of the binary under which kubectl runs it.
const (
	plugin = "kubectl-espalier"
	// completer completes the command line of the plugin.
	completer = "kubectl_complete-espalier"
)

// IsPlugin reports whether the binary runs as a plugin of kubectl, which its name tells.
func IsPlugin(binary string) bool {
	return slices.Contains([]string{plugin, completer}, programOf(binary))
}

// Arguments returns the arguments of a process. To complete "kubectl espalier ...", kubectl calls the completer with what follows.
func Arguments(argv []string) []string {
	if programOf(argv[0]) == completer {
		return append([]string{cobra.ShellCompRequestCmd}, argv[1:]...)
	}
	return argv[1:]
}

func programOf(binary string) string { return strings.TrimSuffix(filepath.Base(binary), ".exe") }

// Run executes the root command and returns the exit code.
func Run(ctx context.Context, root *cobra.Command) int {
	command, err := root.ExecuteContextC(ctx)
	if err == nil {
		return ExitOK
	}
	return report(root.ErrOrStderr(), err, writerFor(command))
}

// report prints an error, which may quote texts from a cluster, for people or as a document for programs.
func report(w io.Writer, err error, write writer) int {
	code := codeOf(err)
	var coded *CodedError
	if errors.As(err, &coded) && coded.Err == nil {
		return code
	}
	if write == nil || write(w, failureOf(err, code)) != nil {
		fmt.Fprintf(w, "error: %s\n", plain.Lines(err.Error()))
	}
	return code
}

// codeOf is the exit code for an error.
func codeOf(err error) int {
	var coded *CodedError
	var problem *Problem
	switch {
	case errors.As(err, &coded):
		return coded.Code
	case errors.As(err, &problem):
		return problem.Code
	default:
		return ExitError
	}
}
