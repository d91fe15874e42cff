// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package crd_test

import (
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"time"
)

// TestDurationRuleAgreesWithGo compares the rule in the definition with the parser that reads the value later, on texts made
// of pieces of durations. They may differ only on what is too long for a duration.
func TestDurationRuleAgreesWithGo(t *testing.T) {
	rule := durationRule(t)
	pieces := []string{"", "none", "0", "1", "12", ".", ".5", "5.", "-", "+", " ", "ns", "us", "µs", "μs", "ms", "s", "m", "h", "d", "e3"}
	random := rand.New(rand.NewPCG(1, 0))
	agreed := map[bool]int{}
	for range 200_000 {
		var text strings.Builder
		for range random.IntN(6) {
			text.WriteString(pieces[random.IntN(len(pieces))])
		}
		_, err := time.ParseDuration(text.String())
		want := err == nil || text.String() == "none"
		if got := rule.MatchString(text.String()); got != want {
			t.Fatalf("%q: the rule says %t, Go says %v", text.String(), got, err)
		}
		agreed[want]++
	}
	if min(agreed[true], agreed[false]) < 5_000 {
		t.Errorf("the texts are too much alike: %v", agreed)
	}
}

func durationRule(t *testing.T) *regexp.Regexp {
	t.Helper()
	timeout := nodes(definition(t, "deployitems").Spec.Versions[0].Schema.OpenAPIV3Schema)["spec.timeout"]
	if timeout == nil || len(timeout.XValidations) != 1 {
		t.Fatal("spec.timeout of deploy items has no rule")
	}
	rule := timeout.XValidations[0].Rule
	pattern, found := strings.CutPrefix(rule, "self.matches('")
	pattern, closed := strings.CutSuffix(pattern, "')")
	if !found || !closed {
		t.Fatalf("the rule is not a pattern: %s", rule)
	}
	return regexp.MustCompile(pattern)
}
