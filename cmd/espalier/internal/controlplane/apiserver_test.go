// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"net"
	"strings"
	"testing"
)

func TestListen(t *testing.T) {
	taken, err := listenOn(0)
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	takenPort := portOf(taken)
	free, err := listenOn(0)
	if err != nil {
		t.Fatal(err)
	}
	freePort := portOf(free)
	free.Close()

	tests := map[string]struct {
		wanted, former int
		want           func(port int) bool
		problem        string
	}{
		"any":                      {0, 0, func(port int) bool { return port > 0 }, ""},
		"the former one":           {0, freePort, func(port int) bool { return port == freePort }, ""},
		"the former one is taken":  {0, takenPort, func(port int) bool { return port != takenPort }, ""},
		"a wanted one":             {freePort, 0, func(port int) bool { return port == freePort }, ""},
		"the wanted one counts":    {freePort, takenPort, func(port int) bool { return port == freePort }, ""},
		"the wanted one is taken":  {takenPort, freePort, nil, "is in use by another process"},
		"the wanted one cannot be": {70000, 0, nil, "listen for the API server"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			listener, err := listen(test.wanted, test.former)
			if test.problem != "" {
				if err == nil || !strings.Contains(err.Error(), test.problem) {
					t.Errorf("error: %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			defer listener.Close()
			if !listener.Addr().(*net.TCPAddr).IP.IsLoopback() || !test.want(portOf(listener)) {
				t.Errorf("it listens on %s", listener.Addr())
			}
		})
	}
}

func portOf(listener net.Listener) int { return listener.Addr().(*net.TCPAddr).Port }
