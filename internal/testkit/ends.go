// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package testkit

import (
	"errors"
	"slices"
	"sync"
)

// ends are what is left to do after the last test.
type ends struct {
	mutex     sync.Mutex
	functions []func() error
}

// AtEnd makes Main call a function after the last test, the newest first: for what all tests of a process share.
func AtEnd(function func() error) { shared.ends.add(function) }

func (e *ends) add(function func() error) {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	e.functions = append(e.functions, function)
}

// run calls every function, also after one of them has failed.
func (e *ends) run() error {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	var problems []error
	for _, function := range slices.Backward(e.functions) {
		problems = append(problems, function())
	}
	return errors.Join(problems...)
}
