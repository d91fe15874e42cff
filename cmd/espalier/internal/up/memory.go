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

// history is short, because clients of this server are local and never lag by minutes.
const history = time.Minute

// garbagePercent is how much garbage may accumulate, in percent of the memory in use. An API server is mostly cache: with Go's default of
// 100, every cached byte costs another one. Half of that costs a few percent more CPU time, which is acceptable; at a quarter, garbage
// collection takes a third of all CPU time.
const garbagePercent = 50

// saveMemory applies the default unless the environment sets one.
func saveMemory() {
	if os.Getenv("GOGC") == "" && os.Getenv("GOMEMLIMIT") == "" {
		debug.SetGCPercent(garbagePercent)
	}
}

const (
	// restInterval is how often the process checks whether there is work.
	restInterval = 30 * time.Second
	// restBytes is how much may be allocated in that time at rest, by controllers that only check their objects. A single installation takes
	// 16 MB.
	restBytes = 64 << 20
	// worthwhileBytes is how much must have been allocated since memory was last returned, to justify another collection.
	worthwhileBytes = 256 << 20
)

// returnMemory returns memory to the system that only the start needed, such as the descriptions of all kinds while they are assembled, and
// later, after each period of work, memory that only that period needed. By default, Go keeps room for as much garbage as may accumulate
// before the next collection, and without work there is no collection.
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

// pace records how much had been allocated since the start of the process at the last check, and when memory was last returned.
type pace struct{ last, returned uint64 }

// over reports whether there was work that has now finished.
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
