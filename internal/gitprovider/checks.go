// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package gitprovider

import "slices"

// ChecksState is the combined state of checks.
type ChecksState string

const (
	// ChecksFailed means that at least one has failed, whatever the state of the others.
	ChecksFailed ChecksState = "Failed"
	// ChecksRunning means that none has failed and at least one has not finished.
	ChecksRunning ChecksState = "Running"
	// ChecksPassed means that there is at least one and all have passed.
	ChecksPassed ChecksState = "Passed"
)

// Check is the result of one check. Checks that were skipped, are neutral, or may fail do not count as checks.
type Check struct {
	Name  string
	State ChecksState
}

// Checks are the results for the head commit of a pull request: builds, tests and the like.
type Checks struct {
	// State of all of them; empty if there are none, or if the credentials do not permit reading them.
	State ChecksState
	// Commit that they belong to.
	Commit string
	// URL is the web page, if the provider has one.
	URL string
	// Passed, Failed and Running count them.
	Passed, Failed, Running int
	// FailedNames are the first MaxFailedNames failed checks, in alphabetical order, without duplicates.
	FailedNames []string
}

// MaxFailedNames is the maximum number of failed checks that are named.
const MaxFailedNames = 5

// Tally counts checks of a commit. The caller chooses their names.
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

// Total returns the number of checks.
func (c Checks) Total() int { return c.Passed + c.Failed + c.Running }

// Incomplete returns the certain part of the result if some checks were not read: then it is unknown whether all have passed.
func (c Checks) Incomplete() Checks {
	if c.State == ChecksPassed {
		return Checks{Commit: c.Commit}
	}
	return c
}

// Equal reports whether both have the same contents.
func (c Checks) Equal(other Checks) bool {
	return c.State == other.State && c.Commit == other.Commit && c.URL == other.URL && c.Passed == other.Passed &&
		c.Failed == other.Failed && c.Running == other.Running && slices.Equal(c.FailedNames, other.FailedNames)
}
