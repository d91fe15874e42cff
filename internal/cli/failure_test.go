// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/yaml"
)

// failing is the result of a command that ends with an error.
func failing(t *testing.T, err error, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	streams, _, out, errOut := genericiooptions.NewTestIOStreams()
	command := &cobra.Command{Use: "fail", Args: cobra.NoArgs, RunE: func(*cobra.Command, []string) error { return err }}
	command.Flags().StringP("output", "o", "yaml", "format")
	root := NewRoot(streams, command)
	root.SetArgs(append([]string{"fail"}, args...))
	code = Run(t.Context(), root)
	return code, out.String(), errOut.String()
}

func TestErrorsAreDocuments(t *testing.T) {
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "installations"}, "shop", errors.New("no"))
	one := &Problem{
		Code: ExitNotFound, What: "cannot <read>\x1b[2J \"shop\"", Where: "namespace a", Next: []string{"first", "second"},
		Cause: fmt.Errorf("read: %w", forbidden),
	}
	two := &Problem{Code: ExitFailed, What: "it failed", Reason: "InvalidManifest"}
	first := failure{
		Error: "cannot <read> \"shop\"", Reason: "Forbidden", Where: "namespace a", Next: []string{"first", "second"}, Code: ExitNotFound,
	}
	second := failure{Error: "it failed", Reason: "InvalidManifest", Code: ExitFailed}
	wrapped := first
	wrapped.Error = "installation shop: " + first.Error
	recoded := second
	recoded.Code = ExitTimeout
	for name, test := range map[string]struct {
		err  error
		args []string
		want failure
	}{
		"plain":     {errors.New("out of luck"), nil, failure{Error: "out of luck", Code: ExitError}},
		"a problem": {one, nil, first},
		"around it": {fmt.Errorf("installation shop: %w", one), nil, wrapped},
		"its code":  {&CodedError{Code: ExitTimeout, Err: two}, nil, recoded},
		"several": {
			Together([]*Problem{one, two}, nil), nil,
			failure{Error: first.Error + "; " + second.Error, Code: ExitNotFound, Errors: []failure{first, second}},
		},
		"the usage": {nil, []string{"--nope"}, failure{Error: "unknown flag: --nope", Next: []string{"espalier fail --help"}, Code: ExitError}},
	} {
		for format, decode := range map[string]func([]byte, any) error{
			"json": json.Unmarshal, "yaml": func(text []byte, into any) error { return yaml.UnmarshalStrict(text, into) },
		} {
			t.Run(name+" "+format, func(t *testing.T) {
				code, stdout, stderr := failing(t, test.err, append([]string{"-o", format}, test.args...)...)
				var got failure
				if err := decode([]byte(stderr), &got); err != nil {
					t.Fatalf("%v in %q", err, stderr)
				}
				if difference := cmp.Diff(test.want, got); difference != "" || code != test.want.Code || stdout != "" {
					t.Errorf("exit code %d, stdout %q, - wanted, + printed:\n%s", code, stdout, difference)
				}
				if lines := strings.Count(stderr, "\n"); format == "json" && lines != 1 {
					t.Errorf("it has %d lines: %s", lines, stderr)
				}
			})
		}
	}
}

// Only those who choose the format get it: it may be the default for data, and templates are for data alone.
func TestErrorsForPeople(t *testing.T) {
	for _, args := range [][]string{nil, {"-o", "text"}, {"-o", "jsonpath={.a}"}, {"-o", "xml"}} {
		if _, _, stderr := failing(t, errors.New("out of luck"), args...); stderr != "error: out of luck\n" {
			t.Errorf("%q: %q", args, stderr)
		}
	}
	several := Together([]*Problem{{Code: ExitFailed, What: "a", Next: []string{"b"}}, {Code: ExitTimeout, What: "c"}}, nil)
	if code, _, stderr := failing(t, several); code != ExitFailed || stderr != "error: a\n  next:  b\nerror: c\n" {
		t.Errorf("exit code %d, %q", code, stderr)
	}
	if code, _, stderr := failing(t, &CodedError{Code: ExitDetached}, "-o", "json"); code != ExitDetached || stderr != "" {
		t.Errorf("a command that has reported its end: exit code %d, %q", code, stderr)
	}
}
