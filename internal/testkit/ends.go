// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package testkit

import (
	"errors"
	"slices"
	"sync"
)

// ends are the functions to call after the last test.
type ends struct {
	mutex     sync.Mutex
	awaited   bool // Main will run them
	functions []func() error
}

// AtEnd makes Main call a function after the last test, the newest first: for what all tests of a process share. It fails in a test binary
// that does not use Main.
func AtEnd(function func() error) error { return shared.ends.add(function) }

func (e *ends) await() {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	e.awaited = true
}

func (e *ends) add(function func() error) error {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	if !e.awaited {
		return errors.New("nothing would clean up after the last test: add func TestMain(m *testing.M) { testkit.Main(m) }")
	}
	e.functions = append(e.functions, function)
	return nil
}

// run calls every function, even after one has failed.
func (e *ends) run() error {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	var problems []error
	for _, function := range slices.Backward(e.functions) {
		problems = append(problems, function())
	}
	return errors.Join(problems...)
}
