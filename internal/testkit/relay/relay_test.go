// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package relay_test

import (
	"bufio"
	"errors"
	"io"
	"net"
	"strings"
	"syscall"
	"testing"

	"espalier.dev/internal/testkit/relay"
)

// echo is a server that repeats each line.
func echo(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				_, _ = io.Copy(connection, connection)
				_ = connection.Close()
			}()
		}
	}()
	return "tcp://" + listener.Addr().String()
}

func connect(t *testing.T, r *relay.Relay) net.Conn {
	t.Helper()
	connection, err := net.Dial("tcp", r.Address())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = connection.Close() })
	return connection
}

func say(t *testing.T, connection net.Conn, line string) {
	t.Helper()
	if _, err := io.WriteString(connection, line); err != nil {
		t.Fatal(err)
	}
	if got, err := bufio.NewReader(connection).ReadString('\n'); got != line || err != nil {
		t.Errorf("heard %q, %v, want %q", got, err, line)
	}
}

// ended reads until the other side ends the connection, and returns how many bytes arrived.
func ended(connection net.Conn) int {
	heard, _ := io.ReadAll(connection)
	return len(heard)
}

func TestARelayCarriesAndCounts(t *testing.T) {
	r := relay.New(t, echo(t))
	one, two := connect(t, r), connect(t, r)
	say(t, one, "a\n")
	say(t, two, "b\n")
	r.AwaitConnections(t, 2)
	_ = one.Close()
	r.AwaitConnections(t, 1)
	r.AwaitAccepted(t, 2)
	if n := r.Accepted(); n != 2 {
		t.Errorf("%d connections were made, want 2", n)
	}
	if got, want := r.Through(t, "https://git.example:99/a/b.git?c=d"), "https://"+r.Address()+"/a/b.git?c=d"; got != want {
		t.Errorf("through the relay it is %s, want %s", got, want)
	}
}

func TestAClosedRelayRefusesUntilItIsOpened(t *testing.T) {
	r := relay.New(t, echo(t))
	before, address := connect(t, r), r.Address()
	say(t, before, "a\n")
	r.Close()
	ended(before)
	r.AwaitConnections(t, 0)
	if _, err := net.Dial("tcp", address); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("whoever comes gets %v, want to be refused", err)
	}
	r.Open(t)
	if r.Address() != address {
		t.Errorf("the address has become %s, it was %s", r.Address(), address)
	}
	say(t, connect(t, r), "b\n")
}

func TestACutEndsOnlyWhatThereIs(t *testing.T) {
	r := relay.New(t, echo(t))
	before := connect(t, r)
	say(t, before, "a\n")
	r.Cut()
	ended(before)
	say(t, connect(t, r), "b\n")
	r.AwaitAccepted(t, 2)
}

func TestASilencedRelaySwallowsWhatItIsTold(t *testing.T) {
	r := relay.New(t, echo(t))
	before := connect(t, r)
	say(t, before, "a\n")
	r.Silence()
	ended(before)
	after := connect(t, r)
	if _, err := io.WriteString(after, strings.Repeat("b", 1000)+"\n"); err != nil {
		t.Fatal(err)
	}
	r.AwaitAccepted(t, 2)
	r.Cut()
	if n := ended(after); n > 0 {
		t.Errorf("%d bytes were heard, want none", n)
	}
}

func TestAConnectionEndsWithItsServer(t *testing.T) {
	r := relay.New(t, "tcp://127.0.0.1:1") // Nobody listens there.
	if n := ended(connect(t, r)); n > 0 {
		t.Errorf("%d bytes were heard, want none", n)
	}
	r.AwaitConnections(t, 0)
}
