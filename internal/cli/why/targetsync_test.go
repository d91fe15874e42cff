// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package why_test

import (
	"encoding/json"
	"strings"
	"testing"

	"espalier.dev/internal/cli"
	"espalier.dev/internal/target"
	"espalier.dev/internal/targetsync"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/clitest"
)

func TestTargetSyncs(t *testing.T) {
	for name, test := range map[string]struct {
		reason   string
		problems []string
	}{
		"targetsync-done": {string(targetsync.Synchronised), nil},
		"targetsync-secret": {
			target.ReasonSecretMissing, []string{"the Secret source-access of spec.secretRef does not exist: create it with a kubeconfig of the source"},
		},
		"targetsync-several": {targetsync.ReasonFailed, []string{
			"write Target prod-a: Target prod-a exists and was not created by a TargetSync", "write Secret prod-b: \x1b[2Jforbidden",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			server := testkit.Server(t)
			s := scene{server, server.Namespace(t)}
			clitest.Store(t, server, clitest.Clusters(s.namespace, test.reason, test.problems...))
			got := s.ask(t, "targetsync/clusters")
			if got.Code != cli.ExitOK || got.Stderr != "" {
				t.Errorf("exit code %d, stderr %q", got.Code, got.Stderr)
			}
			testkit.Golden(t, name, got.Stdout)
		})
	}
}

func TestTargetSyncsForPrograms(t *testing.T) {
	server := testkit.Server(t)
	s := scene{server, server.Namespace(t)}
	clitest.Store(t, server, clitest.Clusters(s.namespace, targetsync.ReasonFailed, "one", "two"))
	var printed struct {
		Subject struct{ Kind, Name, State string }
		Causes  []struct {
			Somebody bool
			Hint     string
			Chain    []struct{ Kind, Reason, Message string }
			Next     []string
		}
	}
	got := s.ask(t, "tgs/clusters", "-o", "json")
	if err := json.Unmarshal([]byte(got.Stdout), &printed); err != nil || len(printed.Causes) != 1 || len(printed.Causes[0].Chain) != 1 {
		t.Fatalf("%v: %+v", err, got)
	}
	cause := printed.Causes[0]
	if printed.Subject.Kind != "TargetSync" || printed.Subject.State != "Failed" || !cause.Somebody || cause.Chain[0].Message != "one\ntwo" ||
		len(cause.Next) != 2 || !strings.Contains(cause.Next[1], "kubectl annotate targetsync clusters landscaper.gardener.cloud/operation=reconcile") {
		t.Errorf("got %+v", printed)
	}
	if got := s.ask(t, "targetsync/nope"); got.Code != cli.ExitNotFound || !strings.Contains(got.Stderr, "TargetSync nope does not exist") ||
		!strings.Contains(got.Stderr, "espalier get targetsyncs") {
		t.Errorf("%+v", got)
	}
}
