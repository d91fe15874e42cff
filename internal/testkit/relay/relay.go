// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package relay stands between a test's code and a server: a Relay passes connections on, and can be closed, cut or silenced; a Front
// passes requests on to an API server, by way of any transport.
package relay

import (
	"io"
	"net"
	"net/url"
	"sync"
	"testing"
	"time"

	"espalier.dev/internal/testkit"
)

// Relay is a port of this machine that forwards to a server, and counts connections. Its methods may be called from several goroutines.
type Relay struct {
	server string

	mutex       sync.Mutex
	address     string
	listener    net.Listener // nil while the relay is closed
	connections map[net.Conn]bool
	accepted    int
	mute        bool
	changed     chan struct{}
}

// New opens a relay to the server of a URL. It is closed when the test ends.
func New(t testing.TB, server string) *Relay {
	t.Helper()
	r := &Relay{server: parse(t, server).Host, address: "127.0.0.1:0", connections: map[net.Conn]bool{}, changed: make(chan struct{})}
	r.Open(t)
	t.Cleanup(r.Close)
	return r
}

func parse(t testing.TB, text string) *url.URL {
	t.Helper()
	address, err := url.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return address
}

// Address returns the host and port of the relay. It stays the same when the relay is closed and opened again.
func (r *Relay) Address() string {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return r.address
}

// Through returns a URL of the server, changed such that it leads through the relay.
func (r *Relay) Through(t testing.TB, text string) string {
	t.Helper()
	address := parse(t, text)
	address.Host = r.Address()
	return address.String()
}

// Open lets connections through, as at the start.
func (r *Relay) Open(t testing.TB) {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", r.Address())
	if err != nil {
		t.Fatal(err)
	}
	r.note(func() { r.listener, r.address = listener, listener.Addr().String() })
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			go r.carry(listener, connection)
		}
	}()
}

// Close ends all connections and refuses new ones.
func (r *Relay) Close() {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if r.listener != nil {
		_ = r.listener.Close()
		r.listener = nil
	}
	r.cutLocked()
}

// Cut ends all connections; new ones are accepted.
func (r *Relay) Cut() {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.cutLocked()
}

// Silence ends all connections, and lets nothing through to new ones from now on.
func (r *Relay) Silence() {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.mute = true
	r.cutLocked()
}

func (r *Relay) cutLocked() {
	for connection := range r.connections {
		_ = connection.Close()
	}
}

// carry forwards data of a connection until one side ends it.
func (r *Relay) carry(from net.Listener, in net.Conn) {
	defer in.Close()
	welcome, mute := r.enter(from, in)
	if !welcome {
		return
	}
	defer r.note(func() { delete(r.connections, in) })
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

// enter counts a connection, unless the relay was closed since it was accepted.
func (r *Relay) enter(from net.Listener, in net.Conn) (welcome, mute bool) {
	r.note(func() {
		if welcome, mute = r.listener == from, r.mute; welcome {
			r.connections[in] = true
			r.accepted++
		}
	})
	return welcome, mute
}

func (r *Relay) note(change func()) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	change()
	close(r.changed)
	r.changed = make(chan struct{})
}

// Accepted returns how many connections were ever made through the relay.
func (r *Relay) Accepted() int {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return r.accepted
}

// AwaitConnections waits until the given number of connections is open.
func (r *Relay) AwaitConnections(t testing.TB, want int) {
	t.Helper()
	r.await(t, "open", want, func() int { return len(r.connections) })
}

// AwaitAccepted waits until the given number of connections were ever made.
func (r *Relay) AwaitAccepted(t testing.TB, want int) {
	t.Helper()
	r.await(t, "made", want, func() int { return r.accepted })
}

func (r *Relay) await(t testing.TB, what string, want int, count func() int) {
	t.Helper()
	limit := time.NewTimer(testkit.Patience)
	defer limit.Stop()
	for {
		r.mutex.Lock()
		got, changed := count(), r.changed
		r.mutex.Unlock()
		if got == want {
			return
		}
		select {
		case <-changed:
		case <-limit.C:
			t.Fatalf("%d connections are %s, want %d", got, what, want)
		}
	}
}
