// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Command apiserver runs only the embedded control plane. It exists for tests:
// it contains no product code, so its build stays cached while the product changes.
//
// It prints "ready URL" on standard output once the kubeconfig is written, and ends on
// SIGINT or SIGTERM, or, with --exit-with-stdin, when its standard input ends, so that
// it never outlives the process that started it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"espalier.dev/cmd/espalier/internal/controlplane"
)

// stopTimeout limits the shutdown; a server that hangs must not delay a test.
const stopTimeout = 4 * time.Minute

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "apiserver:", err)
		os.Exit(1)
	}
}

type settings struct {
	controlplane.Options
	exitWithStdin bool
	verbose       bool
}

func run(ctx context.Context, args []string, stdin io.Reader, stdout io.Writer) error {
	s, err := parse(args)
	if err != nil {
		return err
	}
	if s.exitWithStdin {
		var cancel context.CancelFunc
		ctx, cancel = context.WithCancel(ctx)
		go func() {
			defer cancel()
			_, _ = io.Copy(io.Discard, stdin) // An unreadable input counts as ended.
		}()
	}
	if s.verbose {
		s.Log = os.Stderr
	}
	cp, err := controlplane.Start(ctx, s.Options)
	if err != nil {
		return err
	}
	fmt.Fprintln(stdout, "ready", cp.URL())
	select {
	case <-ctx.Done():
	case <-cp.Done():
	}
	stopCtx, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	return errors.Join(cp.Stop(stopCtx), cp.Err())
}

func parse(args []string) (settings, error) {
	var s settings
	flags := flag.NewFlagSet("apiserver", flag.ContinueOnError)
	flags.StringVar(&s.DataDir, "data-dir", "", "keep the data in this `directory` (default: a temporary one, removed at the end)")
	flags.IntVar(&s.Port, "port", 0, "listen on this `port` of 127.0.0.1 (0: any free one)")
	flags.StringVar(&s.Kubeconfig, "kubeconfig", "", "write the administrator's kubeconfig to this `file` when ready (required)")
	flags.BoolVar(
		&s.ClusterControllers,
		"cluster-controllers",
		false,
		"run namespace deletion, garbage collection and cluster role aggregation",
	)
	flags.StringVar(&s.Authentication, "authentication-config", "", "accept tokens of the identity providers that this `file` names")
	flags.BoolVar(&s.exitWithStdin, "exit-with-stdin", false, "stop when standard input ends")
	flags.BoolVar(&s.verbose, "verbose", false, "log to standard error")
	if err := flags.Parse(args); err != nil {
		return s, err
	}
	if flags.NArg() > 0 {
		return s, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	if s.Kubeconfig == "" {
		return s, errors.New("--kubeconfig FILE is required")
	}
	return s, nil
}
