// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package pullrequest

import (
	"context"
	"slices"
	"sync"

	"espalier.dev/internal/gitprovider"
)

// queue admits one caller at a time per repository, in the order of arrival, so that pipelines that share a repository neither conflict in
// pushes nor starve. The zero value is empty.
type queue struct {
	mutex sync.Mutex
	// lines holds the waiting callers of each repository that is in use.
	lines map[gitprovider.Repository][]chan struct{}
}

// enter waits for the caller's turn and returns the function to leave.
func (q *queue) enter(ctx context.Context, repository gitprovider.Repository) (leave func(), err error) {
	turn := q.join(repository)
	leave = func() { q.next(repository) }
	select {
	case <-turn:
		return leave, nil
	case <-ctx.Done():
		if !q.giveUp(repository, turn) {
			leave() // its turn came at the same time
		}
		return nil, ctx.Err()
	}
}

func (q *queue) join(repository gitprovider.Repository) chan struct{} {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	turn := make(chan struct{})
	line, busy := q.lines[repository]
	if q.lines == nil {
		q.lines = map[gitprovider.Repository][]chan struct{}{}
	}
	if !busy {
		close(turn)
		q.lines[repository] = nil
		return turn
	}
	q.lines[repository] = append(line, turn)
	return turn
}

func (q *queue) next(repository gitprovider.Repository) {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	line := q.lines[repository]
	if len(line) == 0 {
		delete(q.lines, repository)
		return
	}
	close(line[0])
	q.lines[repository] = line[1:]
}

// giveUp leaves the line, and reports whether the caller was still in it.
func (q *queue) giveUp(repository gitprovider.Repository, turn chan struct{}) bool {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	line := q.lines[repository]
	i := slices.Index(line, turn)
	if i < 0 {
		return false
	}
	q.lines[repository] = slices.Delete(slices.Clone(line), i, i+1)
	return true
}
