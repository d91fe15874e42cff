// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package pullrequest

import (
	"sync"

	"espalier.dev/internal/gitprovider"
	"espalier.dev/internal/gitprovider/marker"
)

// question determines whether a repository must be fetched. Commits never change, and neither do the answers.
type question struct {
	repository         gitprovider.Repository
	baseCommit, branch string
	marker             marker.Marker
	value              string
	upToDate           bool
}

// verdict is the result for a base commit, and for the branch on top of it.
type verdict struct {
	// present reports that the base holds the value; problem is why it cannot be written.
	present bool
	problem error
	// branchCommit is a tip of the branch that needs no change.
	branchCommit string
}

// verdicts caches answers, so that a repeated attempt costs one small request as long as no branch moves. The zero value is empty.
type verdicts struct {
	mutex sync.Mutex
	known map[question]verdict
}

// maxVerdicts bounds the cache; an evicted entry costs a fetch.
const maxVerdicts = 4096

func (v *verdicts) get(q question) (verdict, bool) {
	v.mutex.Lock()
	defer v.mutex.Unlock()
	found, ok := v.known[q]
	return found, ok
}

// learn caches the result of an attempt, unless it may differ the next time.
func (v *verdicts) learn(q question, result prepared, err error) {
	switch {
	case err == nil:
		v.put(q, verdict{present: result.present, branchCommit: result.headCommit})
	case isVerdict(err):
		v.put(q, verdict{problem: err})
	}
}

func (v *verdicts) put(q question, answer verdict) {
	v.mutex.Lock()
	defer v.mutex.Unlock()
	if v.known == nil || len(v.known) >= maxVerdicts {
		v.known = map[question]verdict{}
	}
	v.known[q] = answer
}
