// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package listening_test

import (
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"
	"testing"

	"espalier.dev/internal/listening"
)

func TestInUse(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	_, here := net.Listen("tcp", taken.Addr().String())
	_, nowhere := net.Listen("tcp", "127.0.0.1:70000")
	bind := func(number syscall.Errno) error {
		return fmt.Errorf("listen: %w", &net.OpError{Op: "listen", Err: os.NewSyscallError("bind", number)})
	}
	for name, c := range map[string]struct {
		err  error
		want bool
	}{
		"on this system":    {here, true},
		"on Windows":        {bind(10048), true}, // WSAEADDRINUSE
		"denied on Windows": {bind(10013), false},
		"denied":            {bind(syscall.EACCES), false},
		"not an address":    {nowhere, false},
		"something else":    {errors.New("address already in use"), false},
		"no error":          {nil, false},
	} {
		if got := listening.InUse(c.err); got != c.want {
			t.Errorf("%s: %v is in use: %t", name, c.err, got)
		}
	}
}
