// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package get_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/cli"
	"espalier.dev/internal/cli/get"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/clitest"
)

func TestTargetSyncs(t *testing.T) {
	server := testkit.Server(t)
	namespace := server.Namespace(t)
	ask := func(args ...string) clitest.Result {
		return clitest.Run(t, server, namespace, clitest.Call{Command: get.New, Args: args})
	}
	none := clitest.Result{Code: cli.ExitOK, Stderr: "There are no TargetSyncs in namespace <namespace>.\n"}
	if diff := cmp.Diff(none, ask("targetsyncs")); diff != "" {
		t.Error(diff)
	}
	clitest.Store(t, server, clitest.Clusters(
		namespace, "TargetUnreachable", "list the Secrets of namespace project-shop in the source: connection\x1b[2J refused\nagain", "more"))
	for name, args := range map[string][]string{
		"targetsyncs": {"targetsyncs"}, "targetsyncs-wide": {"tgs", "clusters", "-o", "wide"}, "targetsyncs-names": {"targetsync", "-o", "name"},
	} {
		got := ask(args...)
		if got.Code != cli.ExitOK || got.Stderr != "" {
			t.Errorf("%s: exit code %d, stderr %q", name, got.Code, got.Stderr)
		}
		testkit.Golden(t, name, hideTimes(got.Stdout))
	}
	var one lsv1alpha1.TargetSync
	got := ask("targetsyncs", "clusters", "-o", "json")
	if err := json.Unmarshal([]byte(got.Stdout), &one); err != nil || one.Kind != "TargetSync" || one.Spec.SourceNamespace != "project-shop" {
		t.Errorf("%v in %s", err, got.Stdout)
	}
	if got := ask("targetsyncs", "-A"); got.Code != cli.ExitOK || !strings.Contains(got.Stdout, "<namespace>   clusters") {
		t.Errorf("%+v", got)
	}
	testkit.Create(t, server, &lsv1alpha1.TargetSync{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "other", Labels: map[string]string{"team": "shop"}},
		Spec:       lsv1alpha1.TargetSyncSpec{SourceNamespace: "b", SecretRef: lsv1alpha1.LocalSecretReference{Name: "access"}},
	})
	if got := ask("targetsyncs", "-l", "team=shop"); strings.Contains(got.Stdout, "clusters  ") ||
		!strings.Contains(got.Stdout, "another TargetSync, clusters") {
		t.Errorf("%+v", got)
	}
	for text, args := range map[string][]string{
		"TargetSync nope does not exist": {"targetsyncs", "nope"},
		"are in no tree":                 {"targetsyncs", "-o", "tree"},
		"do not go together":             {"targetsyncs", "clusters", "-A"},
		"--selector":                     {"targetsyncs", "-l", "a b"},
		"forbidden":                      {"targetsyncs", "--as=nobody"},
	} {
		if got := ask(args...); got.Code == cli.ExitOK || got.Stdout != "" || !strings.Contains(got.Stderr, text) {
			t.Errorf("%v: %+v", args, got)
		}
	}
}
