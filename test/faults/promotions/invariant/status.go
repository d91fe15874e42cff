// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package invariant

import (
	"regexp"
)

// reasonForm matches reasons that follow the conventions of Kubernetes.
var reasonForm = regexp.MustCompile(`^[A-Z][A-Za-z0-9_]*$`)

// statusIsHonest holds at every revision.
func statusIsHonest(evidence Evidence) []Violation {
	f := &findings{rule: "I13"}
	for _, s := range steps(evidence.History) {
		observed, generation := s.after.Status.ObservedGeneration, s.after.Generation
		if observed > generation {
			f.add(s.version, "observedGeneration %d is ahead of generation %d", observed, generation)
		}
		if s.before != nil && s.before.UID == s.after.UID && observed < s.before.Status.ObservedGeneration && !s.wiped() {
			f.add(s.version, "observedGeneration falls from %d to %d", s.before.Status.ObservedGeneration, observed)
		}
		for _, condition := range s.after.Status.Conditions {
			if !reasonForm.MatchString(condition.Reason) {
				f.add(s.version, "condition %s has the reason %q", condition.Type, condition.Reason)
			}
			if condition.ObservedGeneration > generation {
				f.add(s.version, "condition %s speaks of generation %d, ahead of %d", condition.Type, condition.ObservedGeneration, generation)
			}
		}
	}
	return f.found
}
