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

// specMarkLength is long enough that no two specs are taken for each other.
const specMarkLength = 40

// SpecMark is what a status remembers of the spec of a generation. Another object or another generation has another one, so
// that a mark which was not renewed with the generation is never mistaken for the present one.
func SpecMark(uid types.UID, generation int64, spec any) string {
	text, err := json.Marshal(spec)
	if err == nil {
		text, err = canonical(text)
	}
	if err != nil {
		return "" // What cannot be read counts as unknown.
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%s/%d/%s", uid, generation, text))
	return hex.EncodeToString(sum[:])[:specMarkLength]
}

// canonical writes JSON with sorted keys, however it was written.
func canonical(text []byte) ([]byte, error) {
	var value any
	if err := json.Unmarshal(text, &value); err != nil {
		return nil, err
	}
	return json.Marshal(value)
}

// Observe has a status at rest speak of a generation that differs from the one before in nothing that it speaks of.
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

// RememberSpec adds to a status of before it remembered the spec what it would remember. That is known as long as the status speaks of the
// present generation; after the next change nobody could tell whether nothing but the flow is another one.
func RememberSpec(status *lsv1alpha1.RunStatus, generation int64, mark func(generation int64) string) {
	if status.ObservedSpec == "" && status.Phase.IsCompleted() && status.IsFinished() && status.ObservedGeneration == generation {
		status.ObservedSpec = mark(generation)
	}
}

// Bounds of the safety net under the events that end a wait.
const (
	MinRecheck = time.Minute
	MaxRecheck = 30 * time.Minute
)

// Recheck is when to look again at what has waited since a time, should no event come: after as long as it has waited
// already, within bounds. So the intervals grow.
func Recheck(since, now time.Time) time.Duration {
	if since.IsZero() {
		return MinRecheck
	}
	return min(MaxRecheck, max(MinRecheck, now.Sub(since)))
}
