// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"errors"
	"sync"
)

// atOnce is how many requests one item sends to a cluster at the same time.
const atOnce = 8

// Each calls do for every index below count, some at the same time, and returns all errors, in the order of the indices.
// It does not stop at an error: what can be done is done.
func Each(count int, do func(index int) error) error {
	errs := make([]error, count)
	slots := make(chan struct{}, atOnce)
	var group sync.WaitGroup
	for i := range count {
		slots <- struct{}{}
		group.Go(func() {
			defer func() { <-slots }()
			errs[i] = do(i)
		})
	}
	group.Wait()
	return errors.Join(errs...)
}
