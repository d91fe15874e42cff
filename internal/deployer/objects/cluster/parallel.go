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

// atOnce is how many requests one item sends to a cluster at the same time.
const atOnce = 8

// Each calls do for every index below count, some at the same time, and returns when all are done. A panic in one of them
// becomes one of the caller, who may be prepared for it.
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
	_ = group.Wait() // nobody returns an error
	if len(thrown) > 0 {
		panic(<-thrown)
	}
}

// maxTold is how many of several errors a message tells.
const maxTold = 5

// several are errors of single objects. All count for the classification, and some are told.
type several []error

// Join makes one error of those that are not nil; nil if there are none.
func Join(errs []error) error {
	found := several(slices.DeleteFunc(slices.Clone(errs), func(err error) bool { return err == nil }))
	switch len(found) {
	case 0:
		return nil
	case 1:
		return found[0]
	}
	// What ends the job is told first.
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
