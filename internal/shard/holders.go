// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package shard

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Annotation is the annotation of a Lease that says which process holds which shard.
const Annotation = "espalier.dev/shards"

// summaryPrefix starts the holder of a Lease that several processes hold. It cannot be the name of a process: host names have no spaces.
const summaryPrefix = "shards "

// Holder is the process that holds a shard.
type Holder struct {
	Identity string `json:"identity"`
	// Acquired is when it took the shard, Renewed when it last renewed it, and Seconds the silence after which it counts as lost.
	Acquired time.Time `json:"acquired"`
	Renewed  time.Time `json:"renewed"`
	Seconds  int       `json:"seconds"`
	// Transitions is the number of earlier holders of the shard.
	Transitions int `json:"transitions"`
}

// Holders are the processes that share the work. Their shards do not overlap.
type Holders map[Shard]Holder

// Read returns the holders of a Lease, from its holder and its annotation. There are none if it has no holder, or one process holds all of
// it.
func Read(holder, annotation string) (Holders, error) {
	if !IsSummary(holder) {
		return nil, nil
	}
	var h Holders
	if err := json.Unmarshal([]byte(annotation), &h); err != nil {
		return nil, fmt.Errorf("annotation %s: %w", Annotation, err)
	}
	return h, nil
}

// IsSummary reports whether the holder of a Lease stands for several processes.
func IsSummary(holder string) bool { return strings.HasPrefix(holder, summaryPrefix) }

// Write returns the holder and the annotation of a Lease, for Read. Both are empty if there are no holders.
func (h Holders) Write() (holder, annotation string) {
	if len(h) == 0 {
		return "", ""
	}
	var names []string
	for _, s := range h.Shards() {
		names = append(names, s.String())
	}
	text, _ := json.Marshal(h) // it can always be encoded
	return summaryPrefix + strings.Join(names, " "), string(text)
}

// Shards returns the shards that are held, sorted.
func (h Holders) Shards() []Shard {
	return slices.SortedFunc(maps.Keys(h), func(a, b Shard) int { return cmp.Or(cmp.Compare(a.Of, b.Of), cmp.Compare(a.Number, b.Number)) })
}

// Rivals returns the holders other than identity whose shards overlap with a shard.
func (h Holders) Rivals(s Shard, identity string) Holders {
	rivals := Holders{}
	for other, holder := range h {
		if s.Overlaps(other) && holder.Identity != identity {
			rivals[other] = holder
		}
	}
	return rivals
}

// With returns the holders after one of them has taken or renewed a shard. Holders of overlapping shards are removed.
func (h Holders) With(s Shard, holder Holder) Holders {
	after := Holders{s: holder}
	for other, its := range h {
		if !s.Overlaps(other) {
			after[other] = its
		}
	}
	return after
}

// Without returns the holders after a process has released its shards.
func (h Holders) Without(identity string) Holders {
	after := maps.Clone(h)
	maps.DeleteFunc(after, func(_ Shard, holder Holder) bool { return holder.Identity == identity })
	return after
}

// Together returns the most recently renewed holder, with the longest timeout of all, to wait until all of them are silent.
func (h Holders) Together() Holder {
	var last Holder
	seconds := 0
	for _, s := range h.Shards() {
		seconds = max(seconds, h[s].Seconds)
		if last.Identity == "" || h[s].Renewed.After(last.Renewed) {
			last = h[s]
		}
	}
	last.Seconds = seconds
	return last
}
