// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"

	"espalier.dev/internal/testkit"
)

// relay is a port that leads to an API server. It shows how many connections come this way, and can cut them, or swallow what they carry.
type relay struct {
	address, server string

	mutex       sync.Mutex
	listener    net.Listener
	connections map[net.Conn]bool
	accepted    int
	mute        bool
}

func newRelay(t testing.TB, server *testkit.APIServer) *relay {
	t.Helper()
	r := &relay{address: "127.0.0.1:0", server: strings.TrimPrefix(server.Config().Host, "https://"), connections: map[net.Conn]bool{}}
	r.open(t)
	t.Cleanup(r.close)
	return r
}

func (r *relay) open(t testing.TB) {
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
	r.accepted++
	mute := r.mute
	r.mutex.Unlock()
	defer func() {
		_ = in.Close()
		r.mutex.Lock()
		delete(r.connections, in)
		r.mutex.Unlock()
	}()
	if mute {
		_, _ = io.Copy(io.Discard, in)
		return
	}
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

// close ends the port and all connections through it: whoever comes is refused.
func (r *relay) close() {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	_ = r.listener.Close()
	for connection := range r.connections {
		_ = connection.Close()
	}
}

// cut ends all connections; new ones are welcome.
func (r *relay) cut() {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	for connection := range r.connections {
		_ = connection.Close()
	}
}

// silence cuts all connections and lets nobody who comes hear anything.
func (r *relay) silence() {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.mute = true
	for connection := range r.connections {
		_ = connection.Close()
	}
}

func (r *relay) count() (open, accepted int) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return len(r.connections), r.accepted
}

func (r *relay) awaitConnections(t testing.TB, want int) {
	t.Helper()
	open := -1
	eventually(t, func() bool {
		open, _ = r.count()
		return open == want
	}, func() string { return fmt.Sprintf("%d connections are open, want %d", open, want) })
}
