// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package dial_test

import (
	"testing"

	"espalier.dev/internal/dial"
)

func TestIsLoopback(t *testing.T) {
	for host, want := range map[string]bool{
		"https://127.0.0.1:6443":    true,
		"https://[::1]:6443":        true,
		"https://localhost":         true,
		"127.0.0.1:8080":            true,
		"https://10.0.0.1":          false,
		"https://kubernetes.svc":    false,
		"https://127.0.0.1.example": false,
		"":                          false,
	} {
		if got := dial.IsLoopback(host); got != want {
			t.Errorf("%q: %v, want %v", host, got, want)
		}
	}
}
