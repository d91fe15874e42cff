// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package up

import (
	"fmt"
	"os"
	"path/filepath"
	"text/tabwriter"

	"espalier.dev/cmd/espalier/internal/gitops"
	"espalier.dev/cmd/espalier/internal/kubeversion"
	"espalier.dev/cmd/espalier/internal/node"
	"espalier.dev/examples"
	"espalier.dev/internal/cli/connect"
	"espalier.dev/internal/manager"
)

// summary is what the user needs to know about a running instance.
type summary struct {
	server, kubeconfig, ui, dataDir, log string
	crds, controllers                    int
	approvals                            string
	waiting                              []manager.Waiting
	node                                 bool
	gitea                                []hint
}

// hint is a line of the summary.
type hint struct{ title, value string }

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
	result.gitea = s.giteaHints(result)
	return result
}

// giteaHints describe where Gitea is, how to log in, and what to look at first.
func (s *services) giteaHints(result summary) []hint {
	if s.gitea == nil {
		if gitops.Kept(result.dataDir) {
			return []hint{{"Gitea", "not running: start with --example " + examples.GitOps + " to run it"}}
		}
		return nil
	}
	return []hint{
		{"Gitea", s.gitea.URL() + " (user " + s.gitea.User() + ")"},
		{"Password", inTerminal(s.opts, result, s.gitea.PasswordCommand())},
		{"Pull requests", s.gitea.RepositoryURL() + "/pulls"},
		{"Next", inTerminal(s.opts, result, s.gitea.NextCommand())},
	}
}

// printSummary writes to standard output without buffering: a reader that has the last line has everything.
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
	for _, hint := range s.gitea {
		line(hint.title, hint.value)
	}
	line("Try", tryCommand(opts, s))
	line("Stop", stopHint(opts, s))
	if err := table.Flush(); err != nil {
		fmt.Fprintln(opts.streams.ErrOut, "cannot print where everything is:", err)
	}
}

// nodeHint describes what happens to workloads.
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

// tryCommand returns a command to start with.
func tryCommand(opts options, s summary) string {
	return inTerminal(opts, s, "espalier get -A")
}

// inTerminal returns a command that works unchanged in a new terminal.
func inTerminal(opts options, s summary, command string) string {
	isDefault := !opts.ephemeral && !opts.dataDirChosen && os.Getenv("KUBECONFIG") == ""
	if isDefault {
		return command
	}
	return fmt.Sprintf("KUBECONFIG=%s %s", connect.Quote(s.kubeconfig), command)
}

func stopHint(opts options, s summary) string {
	if opts.ephemeral {
		return "Ctrl-C; nothing is kept"
	}
	return "Ctrl-C; the data stays in " + s.dataDir
}
