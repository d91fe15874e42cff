// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"

	"espalier.dev/internal/shard"
)

// shared looks at a lease of processes that share the work, and reports whether it is one.
func (e *examination) shared(lease *coordinationv1.Lease) bool {
	holder := ""
	if lease.Spec.HolderIdentity != nil {
		holder = *lease.Spec.HolderIdentity
	}
	if !shard.IsSummary(holder) {
		return false
	}
	object := "Lease " + lease.Namespace + "/" + lease.Name
	holders, err := shard.Read(holder, lease.Annotations[shard.Annotation])
	if err != nil {
		e.add(Wrong, object, "cannot be read, so no process can take or keep a shard: "+err.Error(),
			fmt.Sprintf("stop all processes, then: kubectl -n %s delete lease %s", lease.Namespace, lease.Name))
		return true
	}
	working := maps.Clone(holders)
	maps.DeleteFunc(working, func(_ shard.Shard, h shard.Holder) bool { return e.silent(h) })
	divisions := divisionsOf(working)
	if len(divisions) > 1 {
		e.add(Doubtful, object, "shows processes for different numbers of shards ("+strings.Join(divisions, ", ")+
			"): processes for the new number wait until those for the old one stop",
			"kubectl -n "+lease.Namespace+" get deployments, and check again later")
		return true
	}
	known := holders
	if len(working) > 0 {
		known = working
	}
	for _, s := range missing(known.Shards(), working) {
		message := fmt.Sprintf("no process works on shard %d of %d, so its installations and pipelines wait", s.Number, s.Of)
		if lost, recorded := holders[s]; recorded {
			message += fmt.Sprintf("; %s was the last, %s ago", lost.Identity, e.Now.Sub(lost.Renewed).Round(time.Second))
		}
		e.add(Wrong, object, message,
			fmt.Sprintf("run espalier-controller with --shard=%s, or look at its pod: kubectl -n %s get pods", s, lease.Namespace))
	}
	return true
}

// silent reports whether a process has not been heard of for too long.
func (e *examination) silent(h shard.Holder) bool {
	return e.Now.Sub(h.Renewed) > missedRenewals*time.Duration(h.Seconds)*time.Second
}

// divisionsOf lists into how many shards processes divide the work.
func divisionsOf(holders shard.Holders) []string {
	var texts []string
	for _, s := range holders.Shards() {
		texts = append(texts, fmt.Sprint(s.Of))
	}
	return slices.Compact(texts)
}

// missing are the shards without a process, in the division of the known ones.
func missing(known []shard.Shard, working shard.Holders) []shard.Shard {
	var all []shard.Shard
	for _, division := range slices.CompactFunc(known, func(a, b shard.Shard) bool { return a.Of == b.Of }) {
		for number := 1; number <= division.Of; number++ {
			s := shard.Shard{Number: number, Of: division.Of}
			if _, held := working[s]; !held {
				all = append(all, s)
			}
		}
	}
	return all
}
