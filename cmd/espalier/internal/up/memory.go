// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package up

import (
	"os"
	"runtime/debug"
	"time"
)

// history is short, for clients of this server are close by and do not lag behind by minutes.
const history = time.Minute

// garbagePercent is how much garbage may lie around, in percent of what is in use. An API server is mostly cache: with Go's default of
// 100 every cached byte costs another one. Half of that costs a few percent more processor time, which a laptop has.
const garbagePercent = 50

// saveMemory leaves the choice to whoever has made one in the environment.
func saveMemory() {
	if os.Getenv("GOGC") == "" && os.Getenv("GOMEMLIMIT") == "" {
		debug.SetGCPercent(garbagePercent)
	}
}

// returnMemory gives back what only the start has needed, such as the descriptions of all kinds while they are put together.
func returnMemory() { debug.FreeOSMemory() }
