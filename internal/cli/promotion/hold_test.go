// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package promotion_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/client"

	pipelines "espalier.dev/api/pipelines/v1alpha1"
	"espalier.dev/internal/cli"
	"espalier.dev/internal/pipeline"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/clitest"
)

func TestPIP28_PeopleHoldAndRelease(t *testing.T) {
	server := testkit.Server(t)
	namespace := server.Namespace(t)
	line := clitest.Line(t, server, namespace)
	for _, step := range []struct {
		args []string
		said string
		// held are the environments and messages of the holds after the step.
		held []string
	}{
		{[]string{"shop", "production", "-m", "audit", "--as=jo", "--as-group=system:masters"}, "environment production is held", []string{"production: audit (jo)"}},
		{[]string{"shop", "production", "--as=ann", "--as-group=system:masters"}, "environment production is already held", []string{"production: audit (jo)"}},
		{[]string{"shop", "production", "-m", "audit goes on", "--as=ann", "--as-group=system:masters"}, "environment production is held", []string{"production: audit goes on (ann)"}},
		{[]string{"shop", "--release"}, "all environments are not held", []string{"production: audit goes on (ann)"}},
		{[]string{"shop", "production", "--release"}, "environment production is released", nil},
		{[]string{"shop", "-m", "frozen", "--as=jo", "--as-group=system:masters"}, "all environments are held", []string{": frozen (jo)"}},
		{[]string{"shop", "--release"}, "all environments are released", nil},
		{[]string{"shop", "gone", "--release"}, "environment gone is not held", nil},
	} {
		got := clitest.Run(t, server, namespace, clitest.Call{Command: command("hold"), Args: step.args})
		want := clitest.Result{Code: cli.ExitOK, Stdout: "pipeline shop: " + step.said + "\n"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", step.args, diff)
		}
		current := &pipelines.Pipeline{}
		if err := server.Client().Get(t.Context(), client.ObjectKeyFromObject(line), current); err != nil {
			t.Fatal(err)
		}
		var held []string
		for _, h := range pipeline.ReadHolds(current.Annotations) {
			held = append(held, h.Environment+": "+h.Message+" ("+h.By+")")
		}
		if strings.Join(held, ", ") != strings.Join(step.held, ", ") {
			t.Errorf("%q: held is %q, want %q", step.args, held, step.held)
		}
	}
}

func TestRefusedHolds(t *testing.T) {
	server := testkit.Server(t)
	namespace := server.Namespace(t)
	clitest.Line(t, server, namespace)
	for name, test := range map[string]struct {
		args []string
		code int
		want string
	}{
		"unknown environment":  {[]string{"shop", "moon"}, cli.ExitNotFound, "pipeline shop has no environment moon"},
		"unknown pipeline":     {[]string{"nope"}, cli.ExitNotFound, "pipeline nope does not exist"},
		"release with message": {[]string{"shop", "--release", "-m", "why"}, cli.ExitError, "do not go together"},
		"unknown format":       {[]string{"shop", "-o", "wide"}, cli.ExitError, "unknown output format"},
		"no pipeline":          {nil, cli.ExitError, "accepts between 1 and 2 arg(s)"},
	} {
		t.Run(name, func(t *testing.T) {
			got := clitest.Run(t, server, namespace, clitest.Call{Command: command("hold"), Args: test.args})
			if got.Code != test.code || !strings.Contains(got.Stderr, test.want) {
				t.Errorf("%+v", got)
			}
		})
	}
	got := clitest.Run(t, server, namespace, clitest.Call{Command: command("hold"), Args: []string{"shop", "-o", "yaml"}})
	if got.Code != cli.ExitOK || !strings.Contains(got.Stdout, "held: true\n") {
		t.Errorf("%+v", got)
	}
}
