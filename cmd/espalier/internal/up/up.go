// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package up is the command "espalier up": a control plane, all custom resources, all
// controllers and the web UI in one process, to try Espalier and to develop with.
package up

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"espalier.dev/cmd/espalier/internal/controlplane"
	"espalier.dev/cmd/espalier/internal/datadir"
	"espalier.dev/cmd/espalier/internal/gitops"
	"espalier.dev/examples"
	"espalier.dev/internal/cli"
	"espalier.dev/internal/cli/display"
	"espalier.dev/internal/manager"
	"espalier.dev/internal/telemetry/otlp"
)

const (
	// defaultUIAddr is replaced by a free port if it is in use, unless the user has chosen it.
	defaultUIAddr = "127.0.0.1:8090"
	anyUIAddr     = "127.0.0.1:0"

	maxPort = 65535

	// gitopsPollInterval is short: users watch the Git server on their own machine.
	gitopsPollInterval = 5 * time.Second
)

type options struct {
	streams    genericiooptions.IOStreams
	dataDir    string
	ephemeral  bool
	port       int
	kubeconfig string
	uiAddr     string
	examples   []string
	gitea      string // the program, if an example needs it
	verbose    bool
	node       bool
	images     []string
	startLimit time.Duration
	manager    manager.Options

	// uiAddrChosen is set if the user has chosen uiAddr.
	uiAddrChosen bool
	// giteaChosen is set if the user has chosen gitea.
	giteaChosen bool
	// dataDirChosen is set if the user has chosen dataDir.
	dataDirChosen bool
	// pollIntervalChosen is set if the user has chosen how often to poll Git servers.
	pollIntervalChosen bool
}

// New returns the command.
func New(streams genericiooptions.IOStreams) *cobra.Command {
	opts := options{streams: streams, manager: managerOptions()}
	var onlyList bool
	var format *display.FormatFlag
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Start a complete control plane on this machine",
		Long: `Start a Kubernetes API server, Espalier's CRDs and controllers, and the web UI in this
process. It needs no cluster, no Docker, no root and no network, and listens on loopback
only. There are no nodes: pods are stored and never run, so Deployments, Jobs and other
workloads never become ready.

With --node, a real node runs beside it, with kubelet, containerd, network and DNS, in
its own namespaces. That needs Linux, root, and a few Debian packages; the command names
missing ones. The node only reaches this machine, so images are imported, not pulled (see
docs/node.md).

Approving promotions is a separate right, as in a cluster with the admission policy for
approvals. If OTEL_EXPORTER_OTLP_ENDPOINT is set, traces of jobs go there.

Ctrl-C stops it. The data is kept for the next start, unless --ephemeral is set.

Examples to start with:
` + listExamples("  "),
		Example: `  espalier up
  espalier up --ephemeral --example hello
  espalier up --list-examples
  espalier up --example gitops --gitea ./gitea
  sudo espalier up --node --node-image ./thing.tar
  espalier up --data-dir ./state --port 6443 --kubeconfig ./kubeconfig
  espalier up --approval-address 127.0.0.1:8082 --pull-request-poll-interval 5s`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if onlyList || cmd.Flags().Changed("output") {
				return printExamples(streams, format, onlyList)
			}
			opts.uiAddrChosen = cmd.Flags().Changed("ui-addr")
			opts.giteaChosen = cmd.Flags().Changed("gitea")
			opts.dataDirChosen = cmd.Flags().Changed("data-dir")
			opts.pollIntervalChosen = cmd.Flags().Changed("pull-request-poll-interval")
			if err := opts.complete(); err != nil {
				return err
			}
			ctx, cancel := untilSignal(cmd.Context(), streams.ErrOut)
			defer cancel()
			return run(ctx, opts)
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(
		&opts.dataDir,
		"data-dir",
		"",
		"keep the data in this `directory` (default: espalier in your data directory, such as ~/.local/share)",
	)
	flags.BoolVar(&opts.ephemeral, "ephemeral", false, "keep nothing: remove all files at the end")
	flags.IntVar(&opts.port, "port", 0, "port of the API server (0: the one used last, or any free one)")
	flags.StringVar(&opts.kubeconfig, "kubeconfig", "", "add the new cluster to this `file`, too, as its current context")
	flags.StringVar(&opts.uiAddr, "ui-addr", defaultUIAddr, "`address` of the web UI; empty for none")
	opts.addExampleFlags(cmd, &onlyList)
	format = display.AddFormatFlag(cmd, display.FormatText, display.FormatJSON, display.FormatYAML, display.FormatName)
	cmd.Flags().Lookup("output").Usage += "; only with --list-examples"
	flags.BoolVar(&opts.node, "node", false, "run a real node, too, so that pods run; needs Linux, root, containerd and runc")
	flags.StringArrayVar(&opts.images, "node-image", nil, "import the images of this `archive` into the node; can be repeated")
	flags.BoolVarP(&opts.verbose, "verbose", "v", false, "print the controllers' log")
	flags.DurationVar(&opts.startLimit, "start-timeout", controlplane.DefaultStartLimit, "how long the start may take")
	opts.manager.AddControllerFlags(flags)
	if err := cmd.RegisterFlagCompletionFunc("example", completeExample); err != nil {
		panic(err) // The flag is defined above.
	}
	return cmd
}

func (o *options) addExampleFlags(cmd *cobra.Command, onlyList *bool) {
	flags := cmd.Flags()
	flags.StringArrayVar(
		&o.examples,
		"example",
		nil,
		"create the objects of the example `NAME`, one of "+strings.Join(examples.Names(), ", ")+"; can be repeated",
	)
	flags.BoolVar(onlyList, "list-examples", false, "list the examples and do nothing else")
	flags.StringVar(
		&o.gitea,
		"gitea",
		"",
		"Gitea `program` for the example gitops (default: $"+gitops.Variable+", or gitea on the PATH or beside espalier)",
	)
}

// managerOptions returns the options of controllers that share the process with their API server.
func managerOptions() manager.Options {
	o := manager.DefaultOptions()
	o.LeaderElection.Enabled = false
	o.MetricsAddress, o.ProbeAddress, o.Pipelines.ApprovalAddress = manager.Disabled, manager.Disabled, manager.Disabled
	return o
}

// untilSignal returns a context that ends with the first signal to stop, which may be the end of the terminal. After that, a second signal
// ends the process at once.
func untilSignal(parent context.Context, w io.Writer) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(parent)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	// A closed terminal must not end the process while it prints its last lines.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	go func() {
		select {
		case <-signals:
			signal.Stop(signals)
			fmt.Fprintln(w, "Stopping ...")
			cancel()
		case <-ctx.Done():
			signal.Stop(signals)
		}
	}()
	return ctx, cancel
}

func completeExample(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return examples.Names(), cobra.ShellCompDirectiveNoFileComp
}

// example is what programs learn about one.
type example struct {
	Name        string `json:"name"`
	Description string `json:"description"`
}

func printExamples(streams genericiooptions.IOStreams, flag *display.FormatFlag, wanted bool) error {
	format, err := flag.Get()
	switch {
	case err != nil:
		return err
	case !wanted:
		return errors.New("--output is for --list-examples: up itself prints nothing for programs")
	}
	printer := display.To(cli.NewEnvironment(streams), streams.Out)
	all := []example{}
	for _, name := range examples.Names() {
		all = append(all, example{name, examples.Describe(name)})
	}
	switch {
	case format == display.FormatName:
		return printer.Lines(examples.Names()...)
	case format.IsData():
		return printer.Data(map[string]any{"examples": all}, format)
	}
	return printer.Lines(strings.Split(listExamples(""), "\n")...)
}

func listExamples(indent string) string {
	var lines []string
	for _, name := range examples.Names() {
		lines = append(lines, fmt.Sprintf("%s%-10s  %s", indent, name, examples.Describe(name)))
	}
	return strings.Join(lines, "\n")
}

// complete checks the options before anything is started, and sets the defaults.
func (o *options) complete() error {
	if err := o.checkDataDir(); err != nil {
		return err
	}
	if o.port < 0 || o.port > maxPort {
		return fmt.Errorf("--port is %d: it must be between 0 and %d", o.port, maxPort)
	}
	if err := errors.Join(o.checkExamples(), o.checkImages()); err != nil {
		return err
	}
	if o.startLimit <= 0 {
		return fmt.Errorf("--start-timeout is %s: it must be positive", o.startLimit)
	}
	_, err := otlp.Wanted(os.Getenv)
	if err := errors.Join(o.checkUIAddr(), o.manager.Validate(), err); err != nil {
		return err
	}
	return o.completePaths()
}

// completePaths makes the paths absolute, so that they work in another terminal.
func (o *options) completePaths() (err error) {
	if o.kubeconfig != "" {
		if o.kubeconfig, err = filepath.Abs(o.kubeconfig); err != nil {
			return fmt.Errorf("--kubeconfig: %w", err)
		}
	}
	if o.ephemeral || o.dataDirChosen {
		return nil
	}
	o.dataDir, err = datadir.Default()
	return err
}

// checkExamples also finds the program that an example needs.
func (o *options) checkExamples() (err error) {
	for _, name := range o.examples {
		if err := examples.Check(name); err != nil {
			return fmt.Errorf("--example: %w", err)
		}
	}
	if o.giteaChosen && o.gitea == "" {
		return errors.New("--gitea is empty: name the program, or omit the flag to use gitea on the PATH")
	}
	if !o.wantsGitea() {
		if o.gitea != "" {
			return fmt.Errorf("--gitea needs --example %s: nothing else starts Gitea", examples.GitOps)
		}
		return nil
	}
	if o.gitea, err = gitops.Find(o.gitea); err != nil {
		return fmt.Errorf("--example %s: %w", examples.GitOps, err)
	}
	if !o.pollIntervalChosen {
		o.manager.Pipelines.PollInterval = gitopsPollInterval
	}
	return nil
}

func (o *options) wantsGitea() bool { return slices.Contains(o.examples, examples.GitOps) }

func (o *options) checkDataDir() error {
	if o.ephemeral && o.dataDirChosen {
		return errors.New("--ephemeral keeps no data, --data-dir does: use one of them")
	}
	if o.dataDirChosen && o.dataDir == "" {
		return errors.New("--data-dir is empty: name a directory, or use --ephemeral to keep no data")
	}
	return nil
}

// checkImages finds mistakes before a node is started.
func (o *options) checkImages() error {
	if len(o.images) > 0 && !o.node {
		return errors.New("--node-image needs --node: without a node nothing runs images")
	}
	for _, name := range o.images {
		file, err := os.Open(name)
		if err != nil {
			return fmt.Errorf("--node-image: %w", err)
		}
		info, err := file.Stat()
		if err := errors.Join(err, file.Close()); err != nil {
			return fmt.Errorf("--node-image: %w", err)
		}
		if info.IsDir() {
			return fmt.Errorf("--node-image %s is a directory: name an archive, as docker save writes it", name)
		}
	}
	return nil
}

func (o *options) checkUIAddr() error {
	if o.uiAddr == "" {
		return nil
	}
	if _, _, err := net.SplitHostPort(o.uiAddr); err != nil {
		return fmt.Errorf("--ui-addr is %q: it must be host:port, such as %s, or empty for no web UI", o.uiAddr, defaultUIAddr)
	}
	return nil
}
