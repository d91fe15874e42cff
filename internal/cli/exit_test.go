// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

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
