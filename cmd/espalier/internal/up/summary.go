// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package up

import (
	"fmt"
	"os"
	"path/filepath"
	"text/tabwriter"

	"espalier.dev/cmd/espalier/internal/kubeversion"
	"espalier.dev/cmd/espalier/internal/node"
	"espalier.dev/examples"
	"espalier.dev/internal/manager"
)

// summary is what the user wants to know about a running instance.
type summary struct {
	server, kubeconfig, ui, dataDir, log string
	crds, controllers                    int
	approvals                            string
	waiting                              []manager.Waiting
	node                                 bool
}

func (s *services) summary() summary {
	result := summary{
		server:     s.cp.URL(),
		kubeconfig: s.cp.KubeconfigPath(),
		dataDir:    s.cp.DataDir(),
		log:        s.log,
		crds:       s.crds,
		waiting:    s.manager.Waiting(),
		node:       s.node != nil,
	}
	selected, err := manager.Select(s.opts.manager.Controllers)
	if err == nil { // The manager has made the same choice.
		result.controllers = len(selected) - len(result.waiting)
	}
	if address := s.opts.manager.Pipelines.ApprovalAddress; address != manager.Disabled {
		result.approvals = address
	}
	if s.opts.kubeconfig != "" {
		result.kubeconfig = s.opts.kubeconfig
	}
	result.ui = s.uiAddress
	return result
}

// printSummary writes to standard output, which is buffered nowhere: whoever waits for
// the last line may rely on everything.
func printSummary(opts options, s summary) {
	out := opts.streams.Out
	fmt.Fprintf(
		out,
		"Espalier is up: Kubernetes %s, %s, %s.\n\n",
		kubeversion.Version,
		count(s.crds, "custom resource"),
		count(s.controllers, "controller"),
	)
	table := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	line := func(title, value string) { fmt.Fprintf(table, "  %s\t%s\n", title, value) }
	line("API server", s.server)
	line("Kubeconfig", s.kubeconfig)
	if s.ui != "" {
		line("Web UI", s.ui)
	}
	if s.approvals != "" {
		line("Approvals", s.approvals)
	}
	if s.log != "" {
		line("Log", s.log)
	}
	line("Node", nodeHint(s))
	for _, waiting := range s.waiting {
		line("Waiting", waiting.String())
	}
	for _, name := range opts.examples {
		line("Example", name+": "+examples.Describe(name))
	}
	line("Try", tryCommand(opts, s))
	line("Stop", stopHint(opts, s))
	if err := table.Flush(); err != nil {
		fmt.Fprintln(opts.streams.ErrOut, "cannot print where everything is:", err)
	}
}

// nodeHint says what becomes of workloads.
func nodeHint(s summary) string {
	if s.node {
		return node.Name + " is ready: workloads run; its logs are in " + filepath.Join(s.dataDir, "node", "log")
	}
	return "none: no pod runs, so Deployments, Jobs and other workloads never become ready; start with --node to run them"
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// tryCommand works in a new terminal as it is.
func tryCommand(opts options, s summary) string {
	command := "espalier kubectl get installations --all-namespaces"
	isDefault := !opts.ephemeral && !opts.dataDirChosen && os.Getenv("KUBECONFIG") == ""
	if isDefault {
		return command
	}
	return fmt.Sprintf("KUBECONFIG=%s %s", s.kubeconfig, command)
}

func stopHint(opts options, s summary) string {
	if opts.ephemeral {
		return "Ctrl-C; nothing is kept"
	}
	return "Ctrl-C; the data stays in " + s.dataDir
}
