// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package connect_test

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"espalier.dev/internal/cli"
	"espalier.dev/internal/cli/connect"
)

// Who has given up does not need to hear that the server is silent.
func TestAnAbandonedRequestIsNotAnUnreachableServer(t *testing.T) {
	streams, _, _, _ := genericiooptions.NewTestIOStreams()
	access := connect.AddFlags(&cobra.Command{}, cli.NewEnvironment(streams))
	for cause, want := range map[error]cli.Problem{
		context.Canceled:                 {Code: cli.ExitDetached, What: "cannot read x: interrupted"},
		errors.New("connection refused"): {Code: cli.ExitError, What: "cannot read x: the API server does not answer: connection refused"},
	} {
		var got *cli.Problem
		err := access.Explain(&url.Error{Op: "Get", URL: "https://127.0.0.1:1", Err: cause}, "read x", "shops")
		if !errors.As(err, &got) || got.Code != want.Code || got.What != want.What || !errors.Is(err, cause) {
			t.Errorf("%v: %v", cause, err)
		}
		if strings.Contains(err.Error(), "next:") == (cause == context.Canceled) {
			t.Errorf("the advice in: %v", err)
		}
	}
}
