// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package get_test

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/cli"
	"espalier.dev/internal/cli/get"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/clitest"
)

func TestMain(m *testing.M) { testkit.Main(m) }

var moment = regexp.MustCompile(`\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`)

// hideTimes replaces the times of -o wide, which depend on when the test runs.
func hideTimes(text string) string { return moment.ReplaceAllString(text, "<time>") }

// fixture stores trees in all sorts of states.
func fixture(t *testing.T) (*testkit.APIServer, string) {
	t.Helper()
	server := testkit.Server(t)
	namespace := server.Namespace(t)
	clitest.Shop(t, server, namespace)
	clitest.Blog(t, server, namespace)
	outdated := testkit.Installation(namespace, "outdated").Build()
	outdated.Status.RunStatus = clitest.Status(lsv1alpha1.PhaseSucceeded, func(s *lsv1alpha1.RunStatus) { s.ObservedGeneration = 0 })
	clitest.Store(
		t,
		server,
		testkit.Installation(namespace, "fresh").Build(),
		testkit.Installation(namespace, "asked").Reconcile().Build(),
		outdated,
	)
	return server, namespace
}

func TestTables(t *testing.T) {
	server, namespace := fixture(t)
	for name, call := range map[string]clitest.Call{
		"table":    {},
		"wide":     {Args: []string{"-o", "wide"}},
		"nested":   {Args: []string{"--nested"}},
		"by-name":  {Args: []string{"shop-web", "blog"}},
		"by-label": {Args: []string{"-l", "team=shop"}},
		"tree":     {Args: []string{"shop", "-o", "tree"}},
		"names":    {Args: []string{"-o", "name"}},
		"narrow":   {Terminal: &clitest.Terminal{Width: 60, Height: 24}, Variables: map[string]string{"NO_COLOR": "1"}},
		"colour":   {Args: []string{"shop", "blog"}, Terminal: &clitest.Terminal{Width: 200, Height: 24}},
		"forced":   {Args: []string{"shop", "blog"}, Variables: map[string]string{"CLICOLOR_FORCE": "1"}},
	} {
		t.Run(name, func(t *testing.T) {
			call.Command = get.New
			got := clitest.Run(t, server, namespace, call)
			if got.Code != cli.ExitOK || got.Stderr != "" {
				t.Errorf("exit code %d, stderr %q", got.Code, got.Stderr)
			}
			testkit.Golden(t, name, hideTimes(got.Stdout))
		})
	}
}

// A message of several lines keeps them for whoever asks for the installation by name.
func TestSeveralLines(t *testing.T) {
	server := testkit.Server(t)
	namespace := server.Namespace(t)
	broken := testkit.Installation(namespace, "broken").Build()
	broken.Status.RunStatus = clitest.Status(
		lsv1alpha1.PhaseFailed,
		clitest.Error("TemplateError", "line 1: no import\ntemplate:\n>    1 | a: {{ .b }}\n       |       ^"),
	)
	clitest.Store(t, server, broken, testkit.Installation(namespace, "fresh").Build())
	for name, args := range map[string][]string{"lines-in-list": nil, "lines-by-name": {"broken", "fresh"}} {
		got := clitest.Run(t, server, namespace, clitest.Call{Command: get.New, Args: args})
		if got.Code != cli.ExitOK || got.Stderr != "" {
			t.Errorf("%s: exit code %d, stderr %q", name, got.Code, got.Stderr)
		}
		testkit.Golden(t, name, got.Stdout)
	}
}

func TestAllNamespaces(t *testing.T) {
	server, namespace := fixture(t)
	got := clitest.Run(t, server, namespace, clitest.Call{Command: get.New, Args: []string{"-A"}})
	if got.Code != cli.ExitOK || !strings.HasPrefix(got.Stdout, "NAMESPACE ") || !strings.Contains(got.Stdout, "<namespace>   shop") {
		t.Errorf("exit code %d:\n%s%s", got.Code, got.Stdout, got.Stderr)
	}
}

func TestObjects(t *testing.T) {
	server, namespace := fixture(t)
	var list struct {
		Kind  string
		Items []lsv1alpha1.Installation
	}
	got := clitest.Run(t, server, namespace, clitest.Call{Command: get.New, Args: []string{"-o", "json"}})
	if err := json.Unmarshal([]byte(got.Stdout), &list); err != nil || list.Kind != "List" || len(list.Items) != 5 {
		t.Errorf("%v in %s", err, got.Stdout)
	}
	var one lsv1alpha1.Installation
	got = clitest.Run(t, server, namespace, clitest.Call{Command: get.New, Args: []string{"shop", "-o", "yaml"}})
	if err := yaml.UnmarshalStrict([]byte(got.Stdout), &one); err != nil {
		t.Fatalf("%v in %s", err, got.Stdout)
	}
	want := metav1.TypeMeta{Kind: "Installation", APIVersion: "landscaper.gardener.cloud/v1alpha1"}
	if diff := cmp.Diff(want, one.TypeMeta); diff != "" {
		t.Errorf("the kind (-want +got):\n%s", diff)
	}
	if one.Status.JobID != clitest.Job || len(one.ManagedFields) > 0 {
		t.Errorf("it has job %q and managed fields %v", one.Status.JobID, one.ManagedFields)
	}
}

func TestNothing(t *testing.T) {
	server := testkit.Server(t)
	got := clitest.Run(t, server, server.Namespace(t), clitest.Call{Command: get.New})
	none := "There are no installations in namespace <namespace>. To look in all namespaces, use -A.\n"
	if diff := cmp.Diff(clitest.Result{Code: cli.ExitOK, Stderr: none}, got); diff != "" {
		t.Error(diff)
	}
	got = clitest.Run(t, server, server.Namespace(t), clitest.Call{Command: get.New, Args: []string{"-l", "team=one"}})
	if diff := cmp.Diff(clitest.Result{Code: cli.ExitOK, Stderr: "No installation matches --selector team=one.\n"}, got); diff != "" {
		t.Error(diff)
	}
	got = clitest.Run(t, server, server.Namespace(t), clitest.Call{Command: get.New, Args: []string{"-o", "json"}})
	if got.Code != cli.ExitOK || !strings.Contains(got.Stdout, `"items": []`) {
		t.Errorf("%+v", got)
	}
}

// Who knows kubectl writes the kind before the names.
func TestTheKindMayBeNamed(t *testing.T) {
	server, namespace := fixture(t)
	for _, args := range [][]string{{}, {"shop"}} {
		without := clitest.Run(t, server, namespace, clitest.Call{Command: get.New, Args: args})
		for _, kind := range []string{"installations", "installation", "inst"} {
			with := clitest.Run(t, server, namespace, clitest.Call{Command: get.New, Args: append([]string{kind}, args...)})
			if with.Code != cli.ExitOK || with.Stdout != without.Stdout || with.Stdout == "" {
				t.Errorf("%s %q: %+v", kind, args, with)
			}
		}
	}
}

func TestRefusals(t *testing.T) {
	server, namespace := fixture(t)
	for name, test := range map[string]struct {
		args []string
		code int
		want []string
	}{
		"not found":         {[]string{"nope"}, cli.ExitNotFound, []string{"installation nope does not exist", "where: namespace <namespace> at <server>", "next:  espalier get --nested -n <namespace> --kubeconfig=<kubeconfig>"}},
		"forbidden":         {[]string{"--as=nobody"}, cli.ExitNotFound, []string{"forbidden", `User "nobody"`, "kubectl auth can-i --list", "--as=nobody"}},
		"unknown format":    {[]string{"-o", "xml"}, cli.ExitError, []string{`unknown output format "xml"`, "table, wide, tree, json, yaml, name"}},
		"a bad selector":    {[]string{"-l", "a b"}, cli.ExitError, []string{"--selector"}},
		"pipelines":         {[]string{"pipelines", "-A"}, cli.ExitError, []string{"espalier pipeline get"}},
		"deploy items":      {[]string{"deployitems"}, cli.ExitError, []string{"espalier tree"}},
		"name and all":      {[]string{"shop", "-A"}, cli.ExitError, []string{"do not go together"}},
		"no server":         {[]string{"--server=https://127.0.0.1:1"}, cli.ExitError, []string{"the API server does not answer", "--context"}},
		"no kubeconfig":     {[]string{"--kubeconfig=/nowhere/at/all"}, cli.ExitError, []string{"cannot find out which cluster is meant", "espalier up"}},
		"an unknown flag":   {[]string{"--nope"}, cli.ExitError, []string{"See 'espalier get --help'"}},
		"an unknown server": {[]string{"--context=nope"}, cli.ExitError, []string{`context "nope" does not exist`}},
	} {
		t.Run(name, func(t *testing.T) {
			got := clitest.Run(t, server, namespace, clitest.Call{Command: get.New, Args: test.args})
			if got.Code != test.code || got.Stdout != "" {
				t.Errorf("exit code %d, stdout %q", got.Code, got.Stdout)
			}
			for _, want := range test.want {
				if !strings.Contains(got.Stderr, want) {
					t.Errorf("stderr lacks %q:\n%s", want, got.Stderr)
				}
			}
		})
	}
}

func TestClusterWithoutOurKinds(t *testing.T) {
	server := testkit.NewServer(t)
	got := clitest.Run(t, server, "default", clitest.Call{Command: get.New})
	if got.Code != cli.ExitNotFound || !strings.Contains(got.Stderr, "Espalier is not installed there") {
		t.Errorf("exit code %d: %s", got.Code, got.Stderr)
	}
}

// The token is as good as a password, so no suggestion repeats it.
func TestSuggestionsKeepSecrets(t *testing.T) {
	server, namespace := fixture(t)
	got := clitest.Run(t, server, namespace, clitest.Call{Command: get.New, Args: []string{"nope", "--token=swordfish"}})
	if strings.Contains(got.Stderr, "swordfish") {
		t.Errorf("it prints the token: %s", got.Stderr)
	}
}
