// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package promotions_test

import (
	"testing"

	"espalier.dev/internal/conformance"
	"espalier.dev/test/faults/promotions/invariant"
)

// The page of requirements names rules and workloads of this sweep as proofs. They exist.
func TestRequirementsNameWhatExists(t *testing.T) {
	var rules, names []string
	for _, rule := range invariant.Rules() {
		rules = append(rules, rule.ID)
	}
	for _, w := range workloads {
		names = append(names, w.name)
	}
	for _, problem := range conformance.CheckSweep("test/faults/promotions", rules, names) {
		t.Errorf("internal/conformance/sweeps.go: %s", problem)
	}
}
