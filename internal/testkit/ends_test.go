// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package testkit

import (
	"errors"
	"strings"
	"testing"
)

func TestTheNewestEndsFirst(t *testing.T) {
	var e ends
	if err := e.add(func() error { return nil }); err == nil || !strings.Contains(err.Error(), "testkit.Main(m)") {
		t.Errorf("without anybody to run it: %v", err)
	}
	e.await()
	called := ""
	for _, name := range []string{"a", "b", "c"} {
		err := e.add(func() error {
			called += name
			return errors.New(name + " has failed")
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := e.run(); err == nil || err.Error() != "c has failed\nb has failed\na has failed" || called != "cba" {
		t.Errorf("called %q: %v", called, err)
	}
}
