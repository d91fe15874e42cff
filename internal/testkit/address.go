// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package testkit

import (
	"fmt"
	"net"
	"os"
	"sync/atomic"
	"testing"
)

// addresses counts the addresses that were returned.
var addresses atomic.Int32

// FreeAddress returns a host and port that the code under test can listen on, several times in a row. Each has its own host within
// loopback, where the system has more than one: everybody else listens on 127.0.0.1, and a port that is free there may be taken a moment
// later.
func FreeAddress(t testing.TB) string {
	t.Helper()
	number := addresses.Add(1)
	host := fmt.Sprintf("127.%d.%d.%d", 64+os.Getpid()%128, number>>8&0xff, number&0xff)
	listener, err := net.Listen("tcp", host+":0")
	if err != nil {
		listener, err = net.Listen("tcp", "127.0.0.1:0")
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	return listener.Addr().String()
}
