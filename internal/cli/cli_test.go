// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"
)

func TestRun(t *testing.T) {
	tests := map[string]struct {
		args   []string
		code   int
		stdout string
		stderr string
	}{
		"no command":      {nil, 0, "espalier up", ""},
		"a command":       {[]string{"greet"}, 0, "hello", ""},
		"help":            {[]string{"greet", "--help"}, 0, "Say hello", ""},
		"unknown command": {[]string{"grete"}, 1, "", `error: unknown command "grete"`},
		"a similar name":  {[]string{"grete"}, 1, "", "greet"},
		"unknown flag":    {[]string{"greet", "--loud"}, 1, "", "error: unknown flag: --loud\nSee 'espalier greet --help'\n"},
		"plain error":     {[]string{"fail"}, 1, "", "error: out of luck\n"},
		"coded error":     {[]string{"wait"}, 3, "", "error: wait: too slow\n"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			streams, _, stdout, stderr := genericiooptions.NewTestIOStreams()
			root := NewRoot(streams, testCommands()...)
			root.SetArgs(append([]string{}, test.args...))
			if code := Run(t.Context(), root); code != test.code {
				t.Errorf("exit code %d", code)
			}
			if !strings.Contains(stdout.String(), test.stdout) {
				t.Errorf("stdout is %q", stdout.String())
			}
			if !strings.Contains(stderr.String(), test.stderr) {
				t.Errorf("stderr is %q", stderr.String())
			}
			if test.code == 0 && stderr.Len() > 0 || test.code != 0 && stdout.Len() > 0 {
				t.Errorf("output on the wrong stream: stdout %q, stderr %q", stdout.String(), stderr.String())
			}
		})
	}
}

func TestNameAfter(t *testing.T) {
	tests := map[string]string{
		"espalier":                        "Usage:\n  espalier",
		"/usr/bin/kubectl-espalier":       "Usage:\n  kubectl espalier",
		"kubectl-espalier.exe":            "Usage:\n  kubectl espalier",
		"/opt/kubectl-espalier/otherwise": "Usage:\n  espalier",
	}
	for binary, want := range tests {
		streams, _, stdout, _ := genericiooptions.NewTestIOStreams()
		root := NewRoot(streams, testCommands()...)
		NameAfter(root, binary)
		root.SetArgs([]string{"--help"})
		if code := Run(t.Context(), root); code != 0 || !strings.Contains(stdout.String(), want) {
			t.Errorf("%s: exit code %d, %s", binary, code, stdout.String())
		}
	}
}

// kubectl completes the command line of a plugin with a program of its own.
func TestTheCompleterOfThePlugin(t *testing.T) {
	for binary, want := range map[string]string{
		"/usr/bin/kubectl_complete-espalier": "greet\tSay hello\n:4\n",
		"kubectl_complete-espalier.exe":      "greet\tSay hello\n:4\n",
		"kubectl-espalier":                   "", // It is a command that does not exist.
	} {
		streams, _, stdout, _ := genericiooptions.NewTestIOStreams()
		root := NewRoot(streams, testCommands()...)
		NameAfter(root, binary)
		root.SetArgs(Arguments([]string{binary, "gre"}))
		if code := Run(t.Context(), root); stdout.String() != want || (code == ExitOK) != (want != "") || root.CommandPath() != "kubectl espalier" {
			t.Errorf("%s: exit code %d, %s prints %q", binary, code, root.CommandPath(), stdout)
		}
	}
}

func testCommands() []*cobra.Command {
	tooSlow := &CodedError{Code: 3, Err: errors.New("too slow")}
	return []*cobra.Command{
		{Use: "greet", Short: "Say hello", Run: func(cmd *cobra.Command, _ []string) { cmd.Println("hello") }},
		{Use: "fail", RunE: func(*cobra.Command, []string) error { return errors.New("out of luck") }},
		{Use: "wait", RunE: func(*cobra.Command, []string) error { return fmt.Errorf("wait: %w", tooSlow) }},
	}
}
