// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package testkit

import (
	"errors"
	"testing"
)

func TestTheNewestEndsFirst(t *testing.T) {
	var e ends
	called := ""
	for _, name := range []string{"a", "b", "c"} {
		e.add(func() error {
			called += name
			return errors.New(name + " has failed")
		})
	}
	if err := e.run(); err == nil || err.Error() != "c has failed\nb has failed\na has failed" || called != "cba" {
		t.Errorf("called %q: %v", called, err)
	}
}
