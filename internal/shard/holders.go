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

// Annotation is that of a Lease: which process holds which shard.
const Annotation = "espalier.dev/shards"

// summaryPrefix begins the holder of a Lease that several processes hold. No process is called like that: names of hosts have no spaces.
const summaryPrefix = "shards "

// Holder is the process that works on a shard.
type Holder struct {
	Identity string `json:"identity"`
	// Acquired is when it began, Renewed when it was heard of last, and Seconds after which silence it counts as lost.
	Acquired time.Time `json:"acquired"`
	Renewed  time.Time `json:"renewed"`
	Seconds  int       `json:"seconds"`
	// Transitions is how many processes have held the shard before.
	Transitions int `json:"transitions"`
}

// Holders are the processes that share the work. No two of their shards overlap.
type Holders map[Shard]Holder

// Read returns the holders that a Lease names, by its holder and its annotation. There are none if nobody holds it, or one process for all.
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

// IsSummary reports whether the holder of a Lease stands for processes that share the work.
func IsSummary(holder string) bool { return strings.HasPrefix(holder, summaryPrefix) }

// Write returns the holder and the annotation of a Lease that Read reads. Both are empty if there are no holders.
func (h Holders) Write() (holder, annotation string) {
	if len(h) == 0 {
		return "", ""
	}
	var names []string
	for _, s := range h.Shards() {
		names = append(names, s.String())
	}
	text, _ := json.Marshal(h) // it has nothing that cannot be written
	return summaryPrefix + strings.Join(names, " "), string(text)
}

// Shards are those that are held, in order.
func (h Holders) Shards() []Shard {
	return slices.SortedFunc(maps.Keys(h), func(a, b Shard) int { return cmp.Or(cmp.Compare(a.Of, b.Of), cmp.Compare(a.Number, b.Number)) })
}

// Rivals are those of other processes that overlap with a shard.
func (h Holders) Rivals(s Shard, identity string) Holders {
	rivals := Holders{}
	for other, holder := range h {
		if s.Overlaps(other) && holder.Identity != identity {
			rivals[other] = holder
		}
	}
	return rivals
}

// With returns the holders after one of them has taken or renewed a shard. Whoever had a shard that overlaps has it no longer.
func (h Holders) With(s Shard, holder Holder) Holders {
	after := Holders{s: holder}
	for other, its := range h {
		if !s.Overlaps(other) {
			after[other] = its
		}
	}
	return after
}

// Without returns the holders after a process has let go.
func (h Holders) Without(identity string) Holders {
	after := maps.Clone(h)
	maps.DeleteFunc(after, func(_ Shard, holder Holder) bool { return holder.Identity == identity })
	return after
}

// Together returns the holder that was heard of last, for whoever waits until all of them are silent: as long as the most patient demands.
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
