// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package pullrequest

import (
	"sync"

	"espalier.dev/internal/gitprovider"
	"espalier.dev/internal/gitprovider/marker"
)

// question is what decides whether a repository has to be fetched at all. Commits never change, and so neither do the answers.
type question struct {
	repository         gitprovider.Repository
	baseCommit, branch string
	marker             marker.Marker
	value              string
	upToDate           bool
}

// verdict is what was found at a base commit, and on top of it.
type verdict struct {
	// present says that the base holds the value; problem, that it cannot.
	present bool
	problem error
	// branchCommit is a tip of the branch that needs no change.
	branchCommit string
}

// verdicts remembers answers, so that a repeated attempt costs one small request as long as no branch moves. The zero value is empty.
type verdicts struct {
	mutex sync.Mutex
	known map[question]verdict
}

// maxVerdicts bounds the memory; forgetting costs a fetch.
const maxVerdicts = 4096

func (v *verdicts) get(q question) (verdict, bool) {
	v.mutex.Lock()
	defer v.mutex.Unlock()
	found, ok := v.known[q]
	return found, ok
}

// learn remembers what an attempt has found, unless it may be otherwise the next time.
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
