// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package kubelet

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
)

// LogRequest is the API server's request for a log.
type LogRequest struct {
	// Context ends when the reader has gone.
	Context                   context.Context
	Namespace, Pod, Container string
	Follow, Timestamps        bool
	// Previous asks for the log of the run before the last restart.
	Previous bool
	// Tail is the number of lines, -1 for all, and Since the earliest time; zero for all.
	Tail  int
	Since time.Time
}

// ServeLogs plays the part of a node's kubelet that serves logs, until the test ends. It returns the name of the node; the API server asks
// it for the logs of the pods on this node. An error of the function becomes the answer, unless something was written.
func ServeLogs(t testing.TB, config *rest.Config, serve func(w io.Writer, request LogRequest) error) (node string) {
	t.Helper()
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path := strings.Split(strings.TrimPrefix(r.URL.Path, "/containerLogs/"), "/")
		if len(path) != 3 {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		request := requestOf(r.URL.Query())
		request.Context, request.Namespace, request.Pod, request.Container = r.Context(), path[0], path[1], path[2]
		if err := serve(flushing{w}, request); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
	}))
	t.Cleanup(server.Close)
	return nodeAt(t, config, server.Listener.Addr().String())
}

func requestOf(query url.Values) LogRequest {
	request := LogRequest{
		Follow: query.Get("follow") == "true", Timestamps: query.Get("timestamps") == "true", Previous: query.Get("previous") == "true", Tail: -1,
	}
	if lines, err := strconv.Atoi(query.Get("tailLines")); err == nil {
		request.Tail = lines
	}
	if at, err := time.Parse(time.RFC3339, query.Get("sinceTime")); err == nil {
		request.Since = at
	}
	if seconds, err := strconv.Atoi(query.Get("sinceSeconds")); err == nil {
		request.Since = time.Now().Add(-time.Duration(seconds) * time.Second)
	}
	return request
}

// nodeAt creates a node whose kubelet listens at an address.
func nodeAt(t testing.TB, config *rest.Config, address string) string {
	t.Helper()
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	number, err := strconv.ParseInt(port, 10, 32)
	if err != nil {
		t.Fatal(err)
	}
	core, err := corev1client.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	node, err := core.Nodes().Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{GenerateName: "node-"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	node.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: host}}
	node.Status.DaemonEndpoints.KubeletEndpoint.Port = int32(number)
	if _, err := core.Nodes().UpdateStatus(t.Context(), node, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	return node.Name
}

// flushing sends writes at once, because readers who follow a log wait for them.
type flushing struct{ http.ResponseWriter }

// Write implements io.Writer.
func (f flushing) Write(text []byte) (int, error) {
	n, err := f.ResponseWriter.Write(text)
	if flusher, ok := f.ResponseWriter.(http.Flusher); ok {
		flusher.Flush()
	}
	return n, err
}
