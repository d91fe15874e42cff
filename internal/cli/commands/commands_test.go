// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package commands_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/tools/clientcmd"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/cli"
	"espalier.dev/internal/cli/blueprint"
	"espalier.dev/internal/cli/commands"
	"espalier.dev/internal/cli/component"
	"espalier.dev/internal/cli/diff"
	"espalier.dev/internal/cli/explain"
	"espalier.dev/internal/cli/render"
	"espalier.dev/internal/cli/version"
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
		if command.Example == "" || command.Short == "" {
			t.Errorf("the help of %s lacks an example or a summary", command.CommandPath())
		}
		if !strings.Contains(string(page), "## `"+command.CommandPath()+"`") {
			t.Errorf("docs/cli.md has no section on %s", command.CommandPath())
		}
		for _, missing := range undocumented(command, string(page)) {
			t.Errorf("docs/cli.md does not mention flag %s of %s", missing, command.CommandPath())
		}
	}
	// These work without a cluster. Those that only the program has, such as kubectl, have a test there.
	root = cli.NewRoot(streams, explain.New(cli.NewEnvironment(streams)), version.New(cli.NewEnvironment(streams), "v1.35.0"))
	root.InitDefaultCompletionCmd()
	for _, command := range root.Commands() {
		_, section, found := strings.Cut(string(page), "\n## `"+command.CommandPath()+"`\n")
		section, _, _ = strings.Cut(section, "\n## ")
		if !found || command.Short == "" {
			t.Errorf("docs/cli.md has no section on %s, or its help has no summary", command.CommandPath())
		}
		for _, described := range append(command.Commands(), command) {
			for _, missing := range undocumented(described, section) {
				t.Errorf("docs/cli.md does not mention flag %s of %s", missing, described.CommandPath())
			}
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
		if command.Example == "" || command.Short == "" {
			t.Errorf("the help of %s lacks an example or a summary", command.CommandPath())
		}
	}
}

// Errors name commands as the user has called them.
func TestErrorsNameTheCommand(t *testing.T) {
	for _, command := range []string{"render", "diff", "blueprint validate"} {
		for binary, program := range map[string]string{"espalier": "espalier", "kubectl-espalier": "kubectl espalier"} {
			streams, _, _, stderr := genericiooptions.NewTestIOStreams()
			env := cli.NewEnvironment(streams)
			root := cli.NewRoot(streams, diff.New(env), render.New(env, nil), blueprint.New(env))
			cli.NameAfter(root, binary)
			root.SetArgs(strings.Fields(command))
			code, want := cli.Run(t.Context(), root), "\nSee '"+program+" "+command+" --help'\n"
			if code == cli.ExitOK || !strings.HasSuffix(stderr.String(), want) {
				t.Errorf("%s %s: exit code %d, %q, want %q at the end", binary, command, code, stderr, want)
			}
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
	testkit.Create(t, server, testkit.DataObject(namespace, "address", "db").Build())
	clitest.Store(t, server, clitest.Clusters(namespace, "Synchronised"))
	kubeconfig, err := clientcmd.LoadFromFile(server.Kubeconfig())
	if err != nil {
		t.Fatal(err)
	}
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
		"graphs": {[]string{"pipeline graph", "-o", ""}, []string{
			"text", "tree", "json", "yaml", "name", "svg", "mermaid", "dot", "jsonpath=", "jsonpath-file=", "go-template=", "go-template-file=",
		}},
		"all":           {[]string{"tree", ""}, []string{"blog", "shop", "shop-database", "shop-web"}},
		"inventories":   {[]string{"inventory", "shop-"}, []string{"shop-database", "shop-web"}},
		"watched":       {[]string{"watch", "shop-"}, []string{"shop-database", "shop-web"}},
		"one watched":   {[]string{"watch", "shop", ""}, nil},
		"any object":    {[]string{"trace", ""}, nil},
		"of a history":  {[]string{"history", ""}, []string{"blog", "shop"}},
		"one history":   {[]string{"history", "shop", ""}, nil},
		"a rollback":    {[]string{"rollback", "sh"}, []string{"shop"}},
		"roots":         {[]string{"reconcile", ""}, []string{"blog", "shop"}},
		"begun":         {[]string{"delete", "sh"}, []string{"shop"}},
		"exported":      {[]string{"export", "blog", ""}, []string{"shop"}},
		"without given": {[]string{"wait", "shop", ""}, []string{"blog"}},
		"differences":   {[]string{"diff", "shop-w"}, []string{"shop-web"}},
		"only one":      {[]string{"why", "shop", ""}, nil},
		"of a timeline": {[]string{"timeline", "shop-"}, []string{"shop-database", "shop-web"}},
		"of logs":       {[]string{"logs", "shop", ""}, nil},
		"targets":       {[]string{"target check", ""}, []string{"cluster"}},
		"formats": {[]string{"get", "-o", ""}, []string{
			"table", "wide", "tree", "json", "yaml", "name", "jsonpath=", "jsonpath-file=", "go-template=", "go-template-file=",
		}},
		"items":              {[]string{"why", "deployitem/shop-web-n"}, []string{"deployitem/shop-web-nginx"}},
		"as shown":           {[]string{"logs", "Execution/shop-w"}, []string{"Execution/shop-web"}},
		"TargetSyncs":        {[]string{"why", "targetsync/"}, []string{"targetsync/clusters"}},
		"unknown kinds":      {[]string{"why", "pod/"}, nil},
		"pipelines, too":     {[]string{"suspend", "pipeline/"}, []string{"pipeline/shop"}},
		"live objects":       {[]string{"trace", "inst/shop-"}, []string{"inst/shop-database", "inst/shop-web"}},
		"after a kind":       {[]string{"trace", "deployitems", "shop-web-n"}, []string{"shop-web-nginx"}},
		"one live object":    {[]string{"trace", "inst/shop", "inst/shop-"}, nil},
		"of no kind":         {[]string{"trace", "nothing/"}, nil},
		"its cluster":        {[]string{"trace", "--target", ""}, []string{"cluster"}},
		"for a deployer":     {[]string{"deployer conformance", "--target", "c"}, []string{"cluster"}},
		"an import":          {[]string{"create installation", "--target", "to=cl"}, []string{"to=cluster"}},
		"a map":              {[]string{"create installation", "--target", "to=a:cluster,b:"}, []string{"to=a:cluster,b:cluster"}},
		"no import yet":      {[]string{"create installation", "--target", "cl"}, nil},
		"data":               {[]string{"create installation", "--data", "url="}, []string{"url=address"}},
		"contexts":           {[]string{"get", "--context", ""}, slices.Sorted(maps.Keys(kubeconfig.Contexts))},
		"goals":              {[]string{"wait", "shop", "--for", ""}, []string{"deleted", "finished", "succeeded"}},
		"namespaces":         {[]string{"get", "-n", namespace}, []string{namespace}},
		"goals of pipelines": {[]string{"wait", "pipeline/shop", "--for", ""}, []string{"reached", "needs-approval", "needs-merge", "ready", "deleted"}},
		"awaited pipelines":  {[]string{"wait", "pipeline/"}, []string{"pipeline/shop"}},
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
