// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"context"

	"espalier.dev/internal/deployer/objects/cluster"
)

// Step is a part of the work on an item. It returns what it must wait for; nil if it is done. It can be repeated.
type Step func(context.Context) (*cluster.Wait, error)

// Walk runs steps until one must wait or fails. It then watches the objects that the step waits for.
func (s *Session[M]) Walk(ctx context.Context, wake func(), steps ...Step) (*cluster.Wait, error) {
	for _, step := range steps {
		if wait, err := s.untilWatched(ctx, wake, step); wait != nil || err != nil {
			return wait, err
		}
	}
	return nil, nil
}

// maxLooks limits how often a step is repeated because it waits for objects that were not watched before.
const maxLooks = 4

// untilWatched repeats a waiting step until it runs with all awaited objects already watched, so that no change
// in between is missed.
func (s *Session[M]) untilWatched(ctx context.Context, wake func(), step Step) (*cluster.Wait, error) {
	for range maxLooks {
		wait, err := step(ctx)
		if wait == nil || err != nil {
			return nil, err
		}
		fresh, err := s.Follow(wait.On, wake)
		if err != nil || !fresh {
			return wait, err
		}
	}
	wake()
	return step(ctx)
}
