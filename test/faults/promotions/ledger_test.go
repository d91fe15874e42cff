// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package promotions_test

import (
	"sync"

	"espalier.dev/test/faults/promotions/invariant"
)

// ledger lists what has happened outside, in order.
type ledger struct {
	mutex   sync.Mutex
	entries []invariant.Entry
}

func (l *ledger) add(entry invariant.Entry) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.entries = append(l.entries, entry)
}

func (l *ledger) list() []invariant.Entry {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return append([]invariant.Entry(nil), l.entries...)
}

// opened returns the entry that opened a pull request.
func (l *ledger) opened(number int64) invariant.Entry {
	for _, entry := range l.list() {
		if entry.Event == invariant.Opened && entry.Number == number {
			return entry
		}
	}
	return invariant.Entry{Number: number}
}

// end records that a pull request is closed, merged or reopened.
func (l *ledger) end(number int64, how invariant.Event) {
	entry := l.opened(number)
	entry.Event = how
	l.add(entry)
}
