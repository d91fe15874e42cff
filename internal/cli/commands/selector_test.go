// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package commands_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/cli"
	"espalier.dev/internal/cli/diff"
	"espalier.dev/internal/cli/get"
	"espalier.dev/internal/cli/inventory"
	"espalier.dev/internal/cli/request"
	"espalier.dev/internal/cli/tree"
	"espalier.dev/internal/cli/wait"
	"espalier.dev/internal/cli/why"
	"espalier.dev/internal/steer"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/clitest"
)

type command = func(cli.Environment) *cobra.Command

// labelled is a namespace in which the roots shop and blog belong to team one, and the root other and the nested shop-web to team two.
func labelled(t *testing.T) (*testkit.APIServer, string) {
	t.Helper()
	server := testkit.Server(t)
	namespace := server.Namespace(t)
	clitest.Shop(t, server, namespace)
	clitest.Blog(t, server, namespace)
	testkit.Create(t, server, testkit.Installation(namespace, "other").Build())
	for name, labels := range map[string]string{
		"shop": `{"team":"one"}`, "blog": `{"team":"one"}`, "other": `{"team":"two"}`, "shop-web": `{"team":"two","part":"web"}`,
	} {
		object := installationNamed(t, server, namespace, name)
		patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":`+labels+`}}`))
		if err := server.Client().Patch(t.Context(), object, patch); err != nil {
			t.Fatal(err)
		}
	}
	return server, namespace
}

func installationNamed(t *testing.T, server *testkit.APIServer, namespace, name string) *lsv1alpha1.Installation {
	t.Helper()
	object := &lsv1alpha1.Installation{}
	if err := server.Client().Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, object); err != nil {
		t.Fatal(err)
	}
	return object
}

func resourceNames(names ...string) string {
	var text strings.Builder
	for _, name := range names {
		fmt.Fprintf(&text, "installation.landscaper.gardener.cloud/%s\n", name)
	}
	return text.String()
}

// A selector chooses the same installations in all commands; those that work on whole trees take only roots.
func TestSelectorsChooseInstallations(t *testing.T) {
	server, namespace := labelled(t)
	state := func(name string) string {
		object := &lsv1alpha1.Installation{}
		err := server.Client().Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, object)
		if apierrors.IsNotFound(err) {
			return "gone"
		} else if err != nil {
			t.Fatal(err)
		}
		text := object.Annotations[lsv1alpha1.OperationAnnotation]
		if steer.IsSuspended(object) {
			text += " suspended"
		}
		return strings.TrimSpace(text)
	}
	for _, step := range []struct {
		command command
		args    []string
		// states are those of blog, shop, other and shop-web afterwards.
		stdout, states string
	}{
		{request.NewSuspend, []string{"-l", "team=one", "-o", "name"}, resourceNames("blog", "shop"), "suspended|suspended||"},
		{request.NewResume, []string{"-l", "team in (one)", "-o", "name"}, resourceNames("blog", "shop"), "|||"},
		{request.NewReconcile, []string{"-l", "team=two"}, "installation other will run a job\n", "||reconcile|"},
		{request.NewInterrupt, []string{"-l", "team=one", "-o", "name"}, resourceNames("blog", "shop"), "|interrupt|reconcile|"},
		{wait.New, []string{"-l", "team=one,team!=two", "--for=finished", "--timeout=1s", "-o", "name"}, resourceNames("blog"), "|interrupt|reconcile|"},
		{request.NewDelete, []string{"--selector=team=one", "-o", "name"}, resourceNames("blog", "shop"), "gone|gone|reconcile|"},
	} {
		got := clitest.Run(t, server, namespace, clitest.Call{Command: step.command, Args: step.args})
		var states []string
		for _, name := range []string{"blog", "shop", "other", "shop-web"} {
			states = append(states, state(name))
		}
		if got.Stdout != step.stdout || strings.Join(states, "|") != step.states {
			t.Errorf("%q: %q, %+v", step.args, states, got)
		}
		if deletes := step.args[0] == "--selector=team=one"; deletes != (got.Stderr == "Deleting installations blog, shop, with everything below.\n") {
			t.Errorf("%q: stderr %q", step.args, got.Stderr)
		}
	}
}

func TestSelectorsChooseTrees(t *testing.T) {
	server, namespace := labelled(t)
	for name, test := range map[string]struct {
		command command
		args    []string
		want    []string
	}{
		"tree":             {tree.New, []string{"-l", "part=web"}, []string{"/shop-web", "/shop-web", "/shop-web-nginx", "/shop-web-smoke-test"}},
		"one in another":   {why.New, []string{"-l", "team in (one, two)"}, []string{"/blog-theme", "/other", "/shop-web-nginx"}},
		"why":              {why.New, []string{"-l", "part=web"}, []string{"/shop-web-nginx"}},
		"inventory":        {inventory.New, []string{"-l", "team=one"}, []string{"deployment.apps/site", "secret/sh.helm.release.v1.site.v3"}},
		"get, only roots":  {get.New, []string{"-l", "team=two"}, []string{"/other"}},
		"get, with nested": {get.New, []string{"-l", "team=two", "--nested"}, []string{"/other", "/shop-web"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := clitest.Run(t, server, namespace, clitest.Call{Command: test.command, Args: append(test.args, "-o", "name")})
			lines := strings.Fields(got.Stdout)
			for _, want := range test.want {
				if i := slices.IndexFunc(lines, func(line string) bool { return strings.HasSuffix(line, want) }); i >= 0 {
					lines = slices.Delete(lines, i, i+1)
				} else {
					t.Errorf("it lacks %s: %+v", want, got)
				}
			}
			if got.Code != cli.ExitOK || len(lines) > 0 {
				t.Errorf("it also names %q: %+v", lines, got)
			}
		})
	}
	var printed struct {
		Answers []struct{ Subject struct{ Name string } }
	}
	got := clitest.Run(t, server, namespace, clitest.Call{Command: why.New, Args: []string{"-l", "team in (one, two)", "-o", "json"}})
	if err := json.Unmarshal([]byte(got.Stdout), &printed); err != nil || len(printed.Answers) != 3 ||
		printed.Answers[2].Subject.Name != "shop" {
		t.Errorf("%v: %+v", err, got)
	}
	got = clitest.Run(t, server, namespace, clitest.Call{Command: why.New, Args: []string{"-l", "team=one"}})
	if !strings.Contains(got.Stdout, "Installation/blog has failed") || !strings.Contains(got.Stdout, "\n\nInstallation/shop is not done") {
		t.Errorf("%+v", got)
	}
}

// A selector that chooses nothing, or everything by mistake, changes nothing.
func TestSelectorsThatDoNotChoose(t *testing.T) {
	server, namespace := labelled(t)
	trees := map[string]command{"tree": tree.New, "why": why.New, "inventory": inventory.New, "diff": diff.New}
	roots := map[string]command{
		"reconcile": request.NewReconcile, "wait": wait.New, "interrupt": request.NewInterrupt, "suspend": request.NewSuspend,
		"resume": request.NewResume, "delete": request.NewDelete,
	}
	for mistake, test := range map[string]struct {
		args      []string
		code      int
		want      string
		onlyRoots bool
	}{
		"no match":        {[]string{"-l", "team=nobody"}, cli.ExitNotFound, "error: no installation matches --selector team=nobody\n  where: namespace", false},
		"only nested":     {[]string{"-l", "part=web"}, cli.ExitNotFound, "only nested installations match --selector part=web", true},
		"empty":           {[]string{"-l", ""}, cli.ExitError, "--selector is empty and would match every installation", false},
		"unclear":         {[]string{"-l", "a b"}, cli.ExitError, "--selector: ", false},
		"name and labels": {[]string{"shop", "-l", "team=one"}, cli.ExitError, "names and --selector do not go together", false},
		"forbidden":       {[]string{"-l", "team=one", "--as=nobody"}, cli.ExitNotFound, "forbidden", false},
	} {
		for name, of := range roots {
			refused(t, server, namespace, mistake+", "+name, clitest.Call{Command: of, Args: test.args}, test.code, test.want)
		}
		for name, of := range trees {
			if !test.onlyRoots {
				refused(t, server, namespace, mistake+", "+name, clitest.Call{Command: of, Args: test.args}, test.code, test.want)
			}
		}
	}
	refused(t, server, namespace, "get", clitest.Call{Command: get.New, Args: []string{"shop", "-l", "team=one"}}, cli.ExitError, "do not go together")
	for _, name := range []string{"shop", "blog", "other"} {
		object := installationNamed(t, server, namespace, name)
		if !object.DeletionTimestamp.IsZero() || object.Annotations[lsv1alpha1.OperationAnnotation] != "" || steer.IsSuspended(object) {
			t.Errorf("%s was changed: %+v", name, object.ObjectMeta)
		}
	}
}

// refused checks that a call ends with an error. For diff, code 1 has another meaning.
func refused(t *testing.T, server *testkit.APIServer, namespace, name string, call clitest.Call, code int, want string) {
	t.Helper()
	got := clitest.Run(t, server, namespace, call)
	if strings.HasSuffix(name, ", diff") && code == cli.ExitError {
		code = diff.ExitFailed
	}
	if got.Code != code || got.Stdout != "" || !strings.Contains(got.Stderr, want) {
		t.Errorf("%s: %+v", name, got)
	}
}
