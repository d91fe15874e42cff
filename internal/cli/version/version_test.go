// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package version

import (
	"encoding/json"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"espalier.dev/internal/cli"
)

func execute(t *testing.T, kubernetes string, args ...string) (stdout string, err error) {
	t.Helper()
	streams, _, out, _ := genericiooptions.NewTestIOStreams()
	cmd := New(cli.NewEnvironment(streams), kubernetes)
	cmd.SetArgs(args)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	err = cmd.ExecuteContext(t.Context())
	return out.String(), err
}

func TestText(t *testing.T) {
	out, err := execute(t, "v1.37.1")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"espalier ", runtime.Version(), "kubernetes v1.37.1, embedded\n"} {
		if !strings.Contains(out, want) {
			t.Errorf("the output lacks %q: %s", want, out)
		}
	}
}

func TestTextWithoutKubernetes(t *testing.T) {
	out, err := execute(t, "")
	if err != nil {
		t.Fatal(err)
	}
	if strings.Count(out, "\n") != 1 {
		t.Errorf("the output has more than one line: %s", out)
	}
}

func TestJSON(t *testing.T) {
	out, err := execute(t, "v1.37.1", "-o", "json")
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]string
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	if got["version"] == "" {
		t.Error("the version is empty")
	}
	want := map[string]string{
		"version":    got["version"],
		"go":         runtime.Version(),
		"kubernetes": "v1.37.1",
		"platform":   runtime.GOOS + "/" + runtime.GOARCH,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("what is printed (-want +got):\n%s", diff)
	}
}

func TestTemplate(t *testing.T) {
	out, err := execute(t, "v1.37.1", "-o", "go-template={{.kubernetes}}")
	if err != nil || out != "v1.37.1" {
		t.Errorf("%q, %v", out, err)
	}
}

func TestRefusals(t *testing.T) {
	tests := map[string][]string{
		`unknown output format "xml"`: {"-o", "xml"},
		`unknown command "more"`:      {"more"},
	}
	for want, args := range tests {
		if _, err := execute(t, "", args...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v", args, err)
		}
	}
}
