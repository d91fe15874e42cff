// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
)

// specMarkLength is long enough that marks of different specs do not collide.
const specMarkLength = 40

// SpecMark returns what a status records of the spec of a generation. It differs for each object and generation, so that a mark that was
// not renewed with the generation is never mistaken for the current one.
func SpecMark(uid types.UID, generation int64, spec any) string {
	text, err := json.Marshal(spec)
	if err == nil {
		text, err = canonical(text)
	}
	if err != nil {
		return "" // An unreadable spec counts as unknown.
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%s/%d/%s", uid, generation, text))
	return hex.EncodeToString(sum[:])[:specMarkLength]
}

// canonical returns JSON with sorted keys, regardless of the format of the input.
func canonical(text []byte) ([]byte, error) {
	var value any
	if err := json.Unmarshal(text, &value); err != nil {
		return nil, err
	}
	return json.Marshal(value)
}

// Observe makes a status at rest refer to a new generation that does not differ in anything that the status reports.
func Observe(status *lsv1alpha1.RunStatus, generation int64, mark string) {
	conditions := make([]lsv1alpha1.Condition, len(status.Conditions))
	for i, c := range status.Conditions {
		if standard(c.Type) && c.ObservedGeneration == status.ObservedGeneration {
			c.ObservedGeneration = generation
		}
		conditions[i] = c
	}
	if len(conditions) > 0 {
		status.Conditions = conditions
	}
	status.ObservedGeneration, status.ObservedSpec = generation, mark
}

// RememberSpec adds the spec to a status that does not record it yet. The spec is known while the status refers to the current generation;
// after the next change, it cannot be determined whether only the flow has changed.
func RememberSpec(status *lsv1alpha1.RunStatus, generation int64, mark func(generation int64) string) {
	if status.ObservedSpec == "" && status.Phase.IsCompleted() && status.IsFinished() && status.ObservedGeneration == generation {
		status.ObservedSpec = mark(generation)
	}
}

// These are the limits of the intervals between checks during a wait, in case no event ends it.
const (
	MinRecheck = time.Minute
	MaxRecheck = 30 * time.Minute
)

// Recheck returns when to recheck an object that has waited since a time, in case no event arrives: after as long as it has waited
// already, within limits. So the intervals grow.
func Recheck(since, now time.Time) time.Duration {
	if since.IsZero() {
		return MinRecheck
	}
	return min(MaxRecheck, max(MinRecheck, now.Sub(since)))
}
