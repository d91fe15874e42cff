// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"espalier.dev/internal/failure"
)

// atOnce is how many requests one item sends to a cluster concurrently.
const atOnce = 8

// Each calls do for every index below count, with limited concurrency, and returns when all are done. A panic in one of them
// is repeated in the caller, which may recover from it.
func Each(count int, do func(index int)) {
	thrown := make(chan any, count)
	var group errgroup.Group
	group.SetLimit(atOnce)
	for i := range count {
		group.Go(func() error {
			defer func() {
				if value := recover(); value != nil {
					thrown <- value
				}
			}()
			do(i)
			return nil
		})
	}
	_ = group.Wait() // no function returns an error
	if len(thrown) > 0 {
		panic(<-thrown)
	}
}

// maxTold is the maximum number of errors in a message.
const maxTold = 5

// several are errors of single objects. The classification uses all of them, a message shows only some.
type several []error

// Join joins the errors that are not nil; nil if there are none.
func Join(errs []error) error {
	found := several(slices.DeleteFunc(slices.Clone(errs), func(err error) bool { return err == nil }))
	switch len(found) {
	case 0:
		return nil
	case 1:
		return found[0]
	}
	// Errors that end the job come first.
	slices.SortStableFunc(found, func(a, b error) int { return int(failure.KindOf(b)) - int(failure.KindOf(a)) })
	return found
}

func (s several) Error() string {
	var parts []string
	for _, err := range s[:min(len(s), maxTold)] {
		parts = append(parts, err.Error())
	}
	if more := len(s) - maxTold; more > 0 {
		parts = append(parts, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(parts, "; ")
}

func (s several) Unwrap() []error { return s }
