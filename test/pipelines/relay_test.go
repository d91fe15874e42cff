// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

//go:build externals

package pipelines_test

import (
	"io"
	"net"
	"net/url"
	"sync"
	"testing"
)

// relay is a port that leads to a server, unless it is closed.
type relay struct {
	server string

	mutex       sync.Mutex
	address     string
	listener    net.Listener
	connections map[net.Conn]bool
}

// newRelay leads to the server of a URL. It is closed in the beginning.
func newRelay(t *testing.T, server string) *relay {
	t.Helper()
	address, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	r := &relay{server: address.Host, address: "127.0.0.1:0", connections: map[net.Conn]bool{}}
	r.open(t)
	r.close()
	t.Cleanup(r.close)
	return r
}

// through is a URL of the server that leads through the relay.
func (r *relay) through(t *testing.T, text string) string {
	t.Helper()
	address, err := url.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	address.Host = r.address
	return address.String()
}

func (r *relay) open(t *testing.T) {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", r.address)
	if err != nil {
		t.Fatal(err)
	}
	r.mutex.Lock()
	r.listener, r.address = listener, listener.Addr().String()
	r.mutex.Unlock()
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			go r.carry(connection)
		}
	}()
}

func (r *relay) carry(in net.Conn) {
	r.mutex.Lock()
	r.connections[in] = true
	r.mutex.Unlock()
	defer func() {
		_ = in.Close()
		r.mutex.Lock()
		delete(r.connections, in)
		r.mutex.Unlock()
	}()
	out, err := net.Dial("tcp", r.server)
	if err != nil {
		return
	}
	go func() {
		_, _ = io.Copy(out, in)
		_ = out.Close()
	}()
	_, _ = io.Copy(in, out)
}

// close ends all connections; whoever comes is refused.
func (r *relay) close() {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	_ = r.listener.Close()
	for connection := range r.connections {
		_ = connection.Close()
	}
}
