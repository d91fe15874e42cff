// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package up

import (
	"context"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// history is short, for clients of this server are close by and do not lag behind by minutes.
const history = time.Minute

// garbagePercent is how much garbage may lie around, in percent of what is in use. An API server is mostly cache: with Go's default of
// 100 every cached byte costs another one. Half of that costs a few percent more processor time, which a laptop has; at a quarter,
// collecting takes a third of all processor time.
const garbagePercent = 50

// saveMemory leaves the choice to whoever has made one in the environment.
func saveMemory() {
	if os.Getenv("GOGC") == "" && os.Getenv("GOMEMLIMIT") == "" {
		debug.SetGCPercent(garbagePercent)
	}
}

const (
	// restInterval is how often is looked whether there is work.
	restInterval = 30 * time.Second
	// restBytes is what may be allocated in that time at rest: controllers that look around. A single installation takes 16 MB.
	restBytes = 64 << 20
	// worthwhileBytes is what must have been allocated since memory was given back, for another time to be worth the collection.
	worthwhileBytes = 256 << 20
)

// returnMemory gives back what only the start has needed, such as the descriptions of all kinds while they are put together, and from then
// on, whenever a time of work is over, what only that has needed. Go by itself keeps room for as much garbage as there may be before
// the next collection, and without work there is none.
func returnMemory(ctx context.Context) {
	debug.FreeOSMemory()
	work := pace{last: allocated(), returned: allocated()}
	ticks := time.NewTicker(restInterval)
	defer ticks.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
			if work.over(allocated()) {
				debug.FreeOSMemory()
			}
		}
	}
}

// pace is how much had been allocated since the start of the process when it was last looked at, and when memory was last given back.
type pace struct{ last, returned uint64 }

// over reports whether there was work, and is none any more.
func (p *pace) over(total uint64) bool {
	rests := total-p.last < restBytes
	p.last = total
	if !rests || total-p.returned < worthwhileBytes {
		return false
	}
	p.returned = total
	return true
}

func allocated() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
