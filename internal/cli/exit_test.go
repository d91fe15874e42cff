// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"
)

func TestGravest(t *testing.T) {
	for want, codes := range map[int][]int{
		ExitOK:            {},
		ExitFailed:        {ExitOK, ExitTimeout, ExitFailed, ExitNeedsSomebody},
		ExitNeedsSomebody: {ExitTimeout, ExitNeedsSomebody, ExitOK},
		ExitNotFound:      {ExitFailed, ExitNotFound},
		ExitTimeout:       {ExitOK, ExitTimeout},
		ExitError:         {77},
	} {
		if got := Gravest(codes...); got != want {
			t.Errorf("Gravest(%v) = %d, want %d", codes, got, want)
		}
	}
}

func TestReport(t *testing.T) {
	refusal := errors.New("no such thing")
	problem := &Problem{Code: ExitNotFound, What: "it is gone", Where: "here", Next: []string{"look", "look again"}, Cause: refusal}
	if !errors.Is(problem, refusal) {
		t.Error("the cause is not part of the chain")
	}
	for name, test := range map[string]struct {
		err  error
		code int
		text string
	}{
		"a problem": {fmt.Errorf("wrapped: %w", problem), ExitNotFound, "error: wrapped: it is gone\n  where: here\n  next:  look\n         look again\n"},
		"an explained one": {
			&Problem{Code: ExitFailed, What: "it has failed", Next: []string{"look"}, See: "docs/reference/errors.md#failed"}, ExitFailed,
			"error: it has failed\n  next:  look\n  see:   docs/reference/errors.md#failed\n",
		},
		"a short one":       {&Problem{Code: ExitFailed, What: "it has failed"}, ExitFailed, "error: it has failed\n"},
		"all has been said": {&CodedError{Code: ExitDetached}, ExitDetached, ""},
		"what others wrote": {
			errors.New("it says \x1b[31mred\x1b]0;title\x07 and \u202eleft\r\n\tnext  line\x1b[2A\n"), ExitError,
			"error: it says red]0;title and left\n\tnext  line\n\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			if code := report(&out, test.err, nil); code != test.code || out.String() != test.text {
				t.Errorf("code %d, %q", code, out.String())
			}
			if test.err.Error() == "" {
				t.Error("the error has no text")
			}
		})
	}
}

func TestEnvironmentOfAProcess(t *testing.T) {
	streams, _, _, _ := genericiooptions.NewTestIOStreams()
	env := NewEnvironment(streams)
	if _, _, terminal := env.Size(io.Discard); terminal {
		t.Error("takes a buffer for a terminal")
	}
	t.Setenv("ESPALIER_TEST_VARIABLE", "here")
	if env.Getenv("ESPALIER_TEST_VARIABLE") != "here" || env.OwnKubeconfig() != "" || env.Now().IsZero() {
		t.Errorf("got %+v", env)
	}
}

// The help of a command lists its own exit codes, those of its group, or those that most commands share.
func TestHelpExplainsTheExitCodes(t *testing.T) {
	run := func(*cobra.Command, []string) {}
	for name, test := range map[string]struct{ help, want string }{
		"shared":     {"tree --help", "\nExit codes:\n  0     success\n  1     wrong usage, or another error\n  5     not found, or not permitted\n  130   Ctrl-C\n"},
		"its own":    {"watch --help", "\nExit codes:\n  0     q or Ctrl-C\n  1     wrong usage, or another error\n  5     not found, or not permitted\n"},
		"of a group": {"help component get", "\nExit codes:\n  0     success\n  1     wrong usage, or another error\n  130   Ctrl-C\n"},
		"by a flag": {"pipeline status --help", "\nExit codes:\n  0     success\n  1     wrong usage, or another error\n  5     not found, or not permitted\n" +
			"  130   Ctrl-C\n\nExit codes with --exit-code:\n  0     the revision has reached all environments\n"},
		"none": {"pipeline --help", ""},
	} {
		t.Run(name, func(t *testing.T) {
			streams, _, stdout, _ := genericiooptions.NewTestIOStreams()
			pipeline := &cobra.Command{Use: "pipeline", Run: run}
			pipeline.AddCommand(&cobra.Command{Use: "status", Run: run})
			component := &cobra.Command{Use: "component", Run: run}
			component.AddCommand(&cobra.Command{Use: "get", Run: run})
			root := NewRoot(streams, pipeline, component, &cobra.Command{Use: "tree", Run: run}, &cobra.Command{Use: "watch", Run: run})
			NameAfter(root, "kubectl-espalier")
			root.SetArgs(strings.Fields(test.help))
			if code := Run(t.Context(), root); code != ExitOK {
				t.Fatalf("exit code %d", code)
			}
			_, codes, found := strings.Cut(stdout.String(), "\nExit codes")
			if found != (test.want != "") || !strings.HasPrefix("\nExit codes"+codes, test.want) {
				t.Errorf("it prints\n%s", stdout)
			}
		})
	}
}
