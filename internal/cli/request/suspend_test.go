// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package request_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/cli"
	"espalier.dev/internal/cli/request"
	"espalier.dev/internal/steer"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/clitest"
	"espalier.dev/internal/testkit/traffic"
)

// as makes the calls in somebody's name.
func as(name string, args ...string) []string {
	return append(args, "--as="+name, "--as-group=system:masters")
}

func TestSuspendAndResume(t *testing.T) {
	server := testkit.Server(t)
	namespace := server.Namespace(t)
	root := testkit.Installation(namespace, "shop").Build()
	root.Status.RunStatus = clitest.Status(lsv1alpha1.PhaseSucceeded)
	clitest.Store(t, server, root)
	line := clitest.Line(t, server, namespace)
	suspend, resume := request.NewSuspend, request.NewResume
	for _, step := range []struct {
		command func(cli.Environment) *cobra.Command
		args    []string
		stdout  string
		// installation and pipeline are the reasons that stand there afterwards, "-" if they are not suspended.
		installation, pipeline string
	}{
		{resume, as("jo", "shop"), "installation shop is not suspended\n", "-", "-"},
		{suspend, as("jo", "shop", "-m", "audit"), "installation shop is suspended\n", "by jo: audit", "-"},
		{suspend, as("ann", "installation/shop"), "installation shop is already suspended\n", "by jo: audit", "-"},
		{suspend, as("ann", "shop", "shop", "--reason", "vacation"), "installation shop is suspended\n", "by ann: vacation", "-"},
		{
			suspend, as("jo", "shop", "pipeline/shop"), "installation shop is already suspended\npipeline shop is suspended\n",
			"by ann: vacation", "by jo",
		},
		{
			suspend, as("jo", "pipelines.pipelines.weave.works/shop", "--message", "audit", "-o", "name"),
			"pipeline.pipelines.weave.works/shop\n", "by ann: vacation", "by jo: audit",
		},
		{resume, as("ann", "inst/shop", "pipeline/shop"), "installation shop is resumed\npipeline shop is resumed\n", "-", "-"},
		{resume, as("ann", "pipeline/shop"), "pipeline shop is not suspended\n", "-", "-"},
		{suspend, as("jo", "shop", "-o", "name"), "installation.landscaper.gardener.cloud/shop\n", "by jo", "-"},
	} {
		got := clitest.Run(t, server, namespace, clitest.Call{Command: step.command, Args: step.args})
		if diff := cmp.Diff(clitest.Result{Code: cli.ExitOK, Stdout: step.stdout}, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", step.args, diff)
		}
		for object, want := range map[client.Object]string{root: step.installation, line: step.pipeline} {
			if err := server.Client().Get(t.Context(), client.ObjectKeyFromObject(object), object); err != nil {
				t.Fatal(err)
			}
			reason, explained := object.GetAnnotations()[lsv1alpha1.SuspendReasonAnnotation]
			if on := steer.IsSuspended(object); on != (want != "-") || on && reason != want || !on && explained {
				t.Errorf("%q: %T is suspended %t, reason %q, want %q", step.args, object, on, reason, want)
			}
		}
	}
	if root.Generation != 1 {
		t.Errorf("the spec was changed: generation %d", root.Generation)
	}
	got := clitest.Run(t, server, namespace, clitest.Call{Command: suspend, Args: []string{"shop", "-o", "json"}})
	if got.Code != cli.ExitOK || !strings.Contains(got.Stdout, `"suspended": true`) || !strings.Contains(got.Stdout, `"changed": false`) {
		t.Errorf("%+v", got)
	}
}

func TestSuspendSaysWhatGoesOn(t *testing.T) {
	s := set(t, running)
	got := clitest.Run(t, s.server, s.namespace, clitest.Call{Command: request.NewSuspend, Args: as("jo", "shop", "-m", "audit")})
	if got.Code != cli.ExitOK || got.Stdout != "installation shop is suspended; the run that has started finishes\n" {
		t.Errorf("%+v", got)
	}
	s.controller.Settle(t, s.root, lsv1alpha1.PhaseSucceeded, lsv1alpha1.ReasonSucceeded, "")
	got = s.start(t).Wait(t)
	if got.Code != cli.ExitOK || got.Stdout != "installation shop is suspended by jo: audit: the requested job starts when it is resumed\n" {
		t.Errorf("%+v", got)
	}
	got = s.start(t, "--wait").Wait(t)
	const waits = "installation shop waits until it is resumed: it is suspended by jo: audit"
	if got.Code != cli.ExitNeedsSomebody || !strings.Contains(got.Stderr, waits) ||
		!strings.Contains(got.Stderr, "next:  espalier resume shop") {
		t.Errorf("%+v", got)
	}
	got = clitest.Run(t, s.server, s.namespace, clitest.Call{Command: request.NewResume, Args: []string{"shop"}})
	if got.Code != cli.ExitOK || got.Stdout != "installation shop is resumed; what was requested starts now\n" {
		t.Errorf("%+v", got)
	}
	if err := s.server.Client().Delete(t.Context(), s.root.DeepCopy()); err != nil {
		t.Fatal(err)
	}
	got = clitest.Run(t, s.server, s.namespace, clitest.Call{Command: request.NewSuspend, Args: []string{"shop"}})
	if got.Code != cli.ExitOK || got.Stdout != "installation shop is suspended, which does not stop its deletion\n" {
		t.Errorf("%+v", got)
	}
}

// The reason is somebody else's.
func TestTheReasonOfASuspensionDoesNotSteerTheTerminal(t *testing.T) {
	s := set(t)
	call := clitest.Call{Command: request.NewSuspend, Args: as("jo", "shop", "-m", "audit\x1b]0;title\x07\x1b[2J\u202e")}
	if got := clitest.Run(t, s.server, s.namespace, call); got.Code != cli.ExitOK {
		t.Fatalf("%+v", got)
	}
	for _, args := range [][]string{nil, {"--wait"}} {
		got := s.start(t, args...).Wait(t)
		if text := got.Stdout + got.Stderr; !strings.Contains(text, "is suspended by jo: audit]0;title") ||
			strings.ContainsAny(text, "\x1b\x07\u202e") {
			t.Errorf("%q: %+v", args, got)
		}
	}
}

// Nothing is changed if one of several objects cannot be suspended.
func TestRefusedSuspensions(t *testing.T) {
	server := testkit.Server(t)
	namespace := server.Namespace(t)
	clitest.Shop(t, server, namespace)
	clitest.Line(t, server, namespace)
	for name, test := range map[string]struct {
		args []string
		code int
		want string
	}{
		"nested":             {[]string{"shop", "shop-web"}, cli.ExitError, "next:  espalier suspend shop"},
		"absent":             {[]string{"shop", "nope"}, cli.ExitNotFound, "it does not exist"},
		"absent pipeline":    {[]string{"shop", "pipeline/nope"}, cli.ExitNotFound, "pipeline nope does not exist"},
		"another kind":       {[]string{"shop", "execution/shop"}, cli.ExitError, "pipeline/NAME"},
		"no name":            {[]string{"shop", "pipeline/"}, cli.ExitError, "pipeline/NAME"},
		"nothing":            {nil, cli.ExitError, "name installations, or choose them by their labels with --selector"},
		"forbidden":          {[]string{"shop", "--as=nobody"}, cli.ExitNotFound, "forbidden"},
		"forbidden pipeline": {[]string{"pipeline/shop", "--as=nobody"}, cli.ExitNotFound, "forbidden"},
	} {
		t.Run(name, func(t *testing.T) {
			got := clitest.Run(t, server, namespace, clitest.Call{Command: request.NewSuspend, Args: test.args})
			if got.Code != test.code || got.Stdout != "" || !strings.Contains(got.Stderr, test.want) {
				t.Errorf("%+v", got)
			}
			root := &lsv1alpha1.Installation{}
			if err := server.Client().Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "shop"}, root); err != nil {
				t.Fatal(err)
			}
			if steer.IsSuspended(root) {
				t.Error("shop is suspended")
			}
		})
	}
}

// What was done before an error is reported, in every format.
func TestAPartlyRefusedSuspension(t *testing.T) {
	for format, want := range map[string]string{
		"text": "installation shop is suspended\n", "name": "installation.landscaper.gardener.cloud/shop\n", "json": `"name": "shop"`,
	} {
		t.Run(format, func(t *testing.T) {
			server := testkit.Server(t)
			namespace := server.Namespace(t)
			clitest.Blog(t, server, namespace)
			testkit.Create(t, server, testkit.Installation(namespace, "shop").Build())
			front := newFront(t, server, http.MethodPatch, "/installations/blog", func(request *http.Request) *http.Response {
				return traffic.Refusal(request, http.StatusForbidden, metav1.StatusReasonForbidden)
			})
			call := clitest.Call{Command: request.NewSuspend, Args: []string{"shop", "blog", "-o", format, "--kubeconfig=" + front}}
			got := clitest.Run(t, server, namespace, call)
			if got.Code != cli.ExitNotFound || !strings.Contains(got.Stdout, want) || strings.Contains(got.Stdout, "blog") ||
				!strings.Contains(got.Stderr, "cannot suspend installation blog: no") {
				t.Errorf("%+v", got)
			}
		})
	}
}
