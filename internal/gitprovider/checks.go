// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package gitprovider

import "slices"

// ChecksState says how checks are doing.
type ChecksState string

const (
	// ChecksFailed means that one has failed, whatever the others do.
	ChecksFailed ChecksState = "Failed"
	// ChecksRunning means that none has failed and one has not ended yet.
	ChecksRunning ChecksState = "Running"
	// ChecksPassed means that there are some and all have passed.
	ChecksPassed ChecksState = "Passed"
)

// Check is what one of them says. Those that were skipped, that say neither yes nor no, or that may fail are no checks.
type Check struct {
	Name  string
	State ChecksState
}

// Checks are what others say of the head commit of a pull request: builds, tests and the like.
type Checks struct {
	// State of all of them; empty if there are none, or if the credentials do not permit to see them.
	State ChecksState
	// Commit that they belong to.
	Commit string
	// URL is the page for people, if the provider has one about them.
	URL string
	// Passed, Failed and Running count them.
	Passed, Failed, Running int
	// FailedNames are the first MaxFailedNames of those that have failed, in the order of the alphabet, each once.
	FailedNames []string
}

// MaxFailedNames is how many checks that have failed are named.
const MaxFailedNames = 5

// Tally counts checks of a commit. What they are called is up to the caller.
func Tally(commit string, all []Check) Checks {
	checks := Checks{Commit: commit}
	for _, one := range all {
		switch one.State {
		case ChecksFailed:
			checks.Failed++
			checks.FailedNames = append(checks.FailedNames, one.Name)
		case ChecksRunning:
			checks.Running++
		case ChecksPassed:
			checks.Passed++
		}
	}
	slices.Sort(checks.FailedNames)
	checks.FailedNames = slices.Compact(checks.FailedNames)
	checks.FailedNames = checks.FailedNames[:min(len(checks.FailedNames), MaxFailedNames)]
	switch {
	case checks.Failed > 0:
		checks.State = ChecksFailed
	case checks.Running > 0:
		checks.State = ChecksRunning
	case checks.Passed > 0:
		checks.State = ChecksPassed
	}
	return checks
}

// Total is how many there are.
func (c Checks) Total() int { return c.Passed + c.Failed + c.Running }

// Incomplete is what can be said if there may be others that were not seen: that all have passed is not known then.
func (c Checks) Incomplete() Checks {
	if c.State == ChecksPassed {
		return Checks{Commit: c.Commit}
	}
	return c
}

// Equal reports whether both say the same.
func (c Checks) Equal(other Checks) bool {
	return c.State == other.State && c.Commit == other.Commit && c.URL == other.URL && c.Passed == other.Passed &&
		c.Failed == other.Failed && c.Running == other.Running && slices.Equal(c.FailedNames, other.FailedNames)
}
