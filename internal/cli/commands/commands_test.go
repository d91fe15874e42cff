// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package commands_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/cli"
	"espalier.dev/internal/cli/blueprint"
	"espalier.dev/internal/cli/commands"
	"espalier.dev/internal/cli/component"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/clitest"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// execute runs espalier with all commands, without flags that lead to a cluster.
func execute(t *testing.T, env func(*cli.Environment), args ...string) (code int, stdout, stderr string) {
	t.Helper()
	streams, _, out, errOut := genericiooptions.NewTestIOStreams()
	environment := cli.NewEnvironment(streams)
	env(&environment)
	root := cli.NewRoot(streams, commands.All(environment)...)
	root.SetArgs(args)
	code = cli.Run(t.Context(), root)
	return code, out.String(), errOut.String()
}

func unchanged(*cli.Environment) {}

func TestEveryCommandIsDocumented(t *testing.T) {
	page, err := os.ReadFile("../../../docs/cli.md")
	if err != nil {
		t.Fatal(err)
	}
	streams, _, _, _ := genericiooptions.NewTestIOStreams()
	root := cli.NewRoot(streams, commands.All(cli.NewEnvironment(streams))...)
	for _, command := range withThoseBelow(root.Commands()) {
		codes := cli.ExitCodesHelp
		if command.Name() == "diff" {
			codes = "Exit codes: 0 a job would change nothing; 1 it would change something; 2 or higher an" // as kubectl diff
		}
		if !strings.Contains(command.Long, codes) || command.Example == "" || command.Short == "" {
			t.Errorf("the help of %s lacks exit codes, an example or a summary", command.CommandPath())
		}
		if !strings.Contains(string(page), "## `"+command.CommandPath()+"`") {
			t.Errorf("docs/cli.md has no section on %s", command.CommandPath())
		}
		for _, missing := range undocumented(command, string(page)) {
			t.Errorf("docs/cli.md does not mention flag %s of %s", missing, command.CommandPath())
		}
	}
}

// Commands that speak to no cluster are documented, too.
func TestCommandsWithoutAClusterAreDocumented(t *testing.T) {
	page, err := os.ReadFile("../../../docs/cli.md")
	if err != nil {
		t.Fatal(err)
	}
	streams, _, _, _ := genericiooptions.NewTestIOStreams()
	env := cli.NewEnvironment(streams)
	root := cli.NewRoot(streams, blueprint.New(env), component.New(env))
	for _, command := range withThoseBelow(root.Commands()) {
		_, section, found := strings.Cut(string(page), "## `"+command.CommandPath()+"`\n")
		if !found {
			t.Errorf("docs/cli.md has no section on %s", command.CommandPath())
		}
		section, _, _ = strings.Cut(section, "\n## ")
		for _, missing := range undocumented(command, section) {
			t.Errorf("docs/cli.md does not mention flag %s of %s", missing, command.CommandPath())
		}
		if command.HasSubCommands() {
			continue
		}
		if !strings.Contains(command.Long, "Exit codes: 0") || command.Example == "" || command.Short == "" {
			t.Errorf("the help of %s lacks exit codes, an example or a summary", command.CommandPath())
		}
	}
}

func withThoseBelow(commands []*cobra.Command) []*cobra.Command {
	var all []*cobra.Command
	for _, command := range commands {
		all = append(all, command)
		all = append(all, withThoseBelow(command.Commands())...)
	}
	return all
}

func undocumented(command *cobra.Command, page string) []string {
	var missing []string
	for line := range strings.Lines(command.LocalFlags().FlagUsages()) {
		fields := strings.FieldsFunc(line, func(r rune) bool { return r == ' ' || r == ',' || r == '\n' })
		i := slices.IndexFunc(fields, func(field string) bool { return strings.HasPrefix(field, "--") })
		if i >= 0 && !strings.Contains(page, "`"+fields[i]) {
			missing = append(missing, fields[i])
		}
	}
	return missing
}

func TestHelpShowsTheFlagsThatMatter(t *testing.T) {
	code, stdout, _ := execute(t, unchanged, "get", "--help")
	if code != 0 || !strings.Contains(stdout, "--context") || strings.Contains(stdout, "--tls-server-name") {
		t.Errorf("exit code %d:\n%s", code, stdout)
	}
}

// Completion asks the cluster. Nested installations are offered only where they can be used.
func TestCompletion(t *testing.T) {
	server := testkit.Server(t)
	namespace := server.Namespace(t)
	clitest.Shop(t, server, namespace)
	clitest.Blog(t, server, namespace)
	clitest.Line(t, server, namespace)
	testkit.Create(t, server, testkit.Target(namespace, "copy").Label(lsv1alpha1.DataObjectContextLabel, "Inst.shop").Build())
	for name, test := range map[string]struct {
		args []string
		want []string
	}{
		"pipelines":      {[]string{"approve", ""}, []string{"shop"}},
		"environments":   {[]string{"approve", "shop", ""}, []string{"dev", "staging", "production"}},
		"one of them":    {[]string{"hold", "shop", "st"}, []string{"staging"}},
		"no third":       {[]string{"approve", "shop", "dev", ""}, nil},
		"unknown one":    {[]string{"approve", "nope", ""}, nil},
		"of no use here": {[]string{"pipeline why", "shop", ""}, nil},
		"of use here":    {[]string{"pipeline history", "shop", "p"}, []string{"production"}},
		"graphs":         {[]string{"pipeline graph", "-o", ""}, []string{"text", "svg", "mermaid", "dot"}},
		"all":            {[]string{"tree", ""}, []string{"blog", "shop", "shop-database", "shop-web"}},
		"inventories":    {[]string{"inventory", "shop-"}, []string{"shop-database", "shop-web"}},
		"any object":     {[]string{"trace", ""}, nil},
		"roots":          {[]string{"reconcile", ""}, []string{"blog", "shop"}},
		"begun":          {[]string{"delete", "sh"}, []string{"shop"}},
		"exported":       {[]string{"export", "blog", ""}, []string{"shop"}},
		"without given":  {[]string{"wait", "shop", ""}, []string{"blog"}},
		"differences":    {[]string{"diff", "shop-w"}, []string{"shop-web"}},
		"only one":       {[]string{"why", "shop", ""}, nil},
		"of a timeline":  {[]string{"timeline", "shop-"}, []string{"shop-database", "shop-web"}},
		"of logs":        {[]string{"logs", "shop", ""}, nil},
		"targets":        {[]string{"target check", ""}, []string{"cluster"}},
		"formats":        {[]string{"get", "-o", ""}, []string{"table", "wide", "tree", "json", "yaml", "name"}},
		"goals":          {[]string{"wait", "shop", "--for", ""}, []string{"deleted", "finished", "succeeded"}},
		"namespaces":     {[]string{"get", "-n", namespace}, []string{namespace}},
	} {
		t.Run(name, func(t *testing.T) {
			last := len(test.args) - 1
			args := append([]string{cobra.ShellCompNoDescRequestCmd}, strings.Fields(test.args[0])...)
			args = append(args, "--kubeconfig", server.Kubeconfig(), "--namespace", namespace)
			args = append(args, test.args[1:last]...)
			code, stdout, stderr := execute(t, unchanged, append(args, test.args[last])...)
			got := strings.Split(strings.TrimSpace(stdout), "\n")
			if code != 0 || !slices.Equal(got[:len(got)-1], test.want) || got[len(got)-1] != ":4" {
				t.Errorf("exit code %d, offers %q, %s", code, got, stderr)
			}
		})
	}
}

func TestCompletionWithoutAClusterOffersNothing(t *testing.T) {
	_, stdout, _ := execute(t, unchanged, cobra.ShellCompNoDescRequestCmd, "tree", "--kubeconfig", "/nowhere/at/all", "")
	if stdout != ":4\n" {
		t.Errorf("it offers %q", stdout)
	}
}

// Whoever names no cluster means the control plane of this machine, and whoever names one means that.
func TestWhichCluster(t *testing.T) {
	server := testkit.Server(t)
	nowhere := filepath.Join(t.TempDir(), "kubeconfig")
	for name, test := range map[string]struct {
		variable, own string
		args          []string
		code          int
	}{
		"that of this machine": {"", server.Kubeconfig(), nil, cli.ExitOK},
		"a stopped one":        {"", nowhere, nil, cli.ExitError},
		"that of the variable": {nowhere, server.Kubeconfig(), nil, cli.ExitError},
		"that of the flag":     {"", nowhere, []string{"--kubeconfig", server.Kubeconfig()}, cli.ExitOK},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("KUBECONFIG", test.variable)
			code, _, stderr := execute(t, func(e *cli.Environment) { e.OwnKubeconfig = func() string { return test.own } },
				append([]string{"get", "-n", server.Namespace(t)}, test.args...)...)
			if code != test.code {
				t.Errorf("exit code %d: %s", code, stderr)
			}
		})
	}
}
