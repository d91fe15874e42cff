// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package commands_test

import (
	"encoding/json"
	"strings"
	"testing"

	"espalier.dev/internal/cli"
	"espalier.dev/internal/cli/get"
	"espalier.dev/internal/cli/request"
	"espalier.dev/internal/cli/tree"
	"espalier.dev/internal/cli/wait"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/clitest"
)

// With -o json, the last line of standard error is the error, and standard output is one whole document or empty.
func TestErrorsForPrograms(t *testing.T) {
	server := testkit.Server(t)
	namespace := server.Namespace(t)
	clitest.Shop(t, server, namespace)
	clitest.Blog(t, server, namespace)
	for name, test := range map[string]struct {
		command        command
		args           []string
		code, errors   int
		reason, prefix string
		printsData     bool
	}{
		"a failed job": {wait.New, []string{"blog"}, cli.ExitFailed, 0, "InvalidManifest", "installation blog has ended as Failed: DeployItem/", true},
		"several":      {wait.New, []string{"blog", "shop", "--timeout=300ms"}, cli.ExitFailed, 2, "", "installation blog has ended", true},
		"absent":       {get.New, []string{"nope"}, cli.ExitNotFound, 0, "", "installation nope does not exist", false},
		"forbidden":    {tree.New, []string{"--as=nobody"}, cli.ExitNotFound, 0, "Forbidden", "cannot read the installations: ", false},
		"no name":      {request.NewReconcile, nil, cli.ExitError, 0, "", "name installations, or choose them", false},
		"in a call":    {request.NewDelete, []string{"shop", "--yes"}, cli.ExitError, 0, "", "--yes only goes with --force", false},
		"not started":  {request.NewResume, []string{"nope", "--wait"}, cli.ExitNotFound, 0, "NotFound", "cannot read installation nope: ", false},
	} {
		t.Run(name, func(t *testing.T) {
			got := clitest.Run(t, server, namespace, clitest.Call{Command: test.command, Args: append(test.args, "-o", "json")})
			lines := strings.Split(strings.TrimSuffix(got.Stderr, "\n"), "\n")
			var told struct {
				Error, Reason string
				Code          int
				Errors        []any
			}
			if err := json.Unmarshal([]byte(lines[len(lines)-1]), &told); err != nil {
				t.Fatalf("%v: %+v", err, got)
			}
			if got.Code != test.code || told.Code != test.code || told.Reason != test.reason || len(told.Errors) != test.errors ||
				!strings.HasPrefix(told.Error, test.prefix) {
				t.Errorf("%+v", got)
			}
			if whole := json.Valid([]byte(got.Stdout)); whole != test.printsData || !whole && got.Stdout != "" {
				t.Errorf("stdout: %s", got.Stdout)
			}
		})
	}
}
