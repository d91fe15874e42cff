// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package clitest

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"k8s.io/client-go/rest"

	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/relay"
	"espalier.dev/internal/testkit/traffic"
)

// Front starts an API server in front of another one, which answers the requests for which a function returns nil. It returns the file with
// the kubeconfig, for the flag --kubeconfig of a call.
func Front(t testing.TB, server *testkit.APIServer, answer func(*http.Request) *http.Response) string {
	t.Helper()
	observer, connection := traffic.New(), rest.CopyConfig(server.Config())
	observer.AnswerWith(answer)
	connection.Wrap(observer.Wrap)
	transport, err := rest.TransportFor(connection)
	if err != nil {
		t.Fatal(err)
	}
	front, err := relay.NewFront(connection.Host, transport)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(front.Close)
	content, err := front.Kubeconfig()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// AwaitAbandoned returns when nobody waits for the answer to a request any more.
func AwaitAbandoned(request *http.Request) {
	if request.Body != nil {
		_, _ = io.Copy(io.Discard, request.Body) // A server notices only then that its client is gone.
	}
	<-request.Context().Done()
}
