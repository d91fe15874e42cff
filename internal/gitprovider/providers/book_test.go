// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package providers_test

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"time"

	"espalier.dev/internal/gitprovider"
)

// book is the data of a fake provider: branches and pull requests. Changes are five minutes apart.
type book struct {
	sync.Mutex
	now      time.Time
	branches map[string]string // name to commit
	records  []*record
}

type record struct {
	number                int64
	version               int64
	head, base            string
	title, body           string
	headCommit            string
	fork                  bool
	state                 gitprovider.State
	mergeCommit, closedBy string
	created, updated      time.Time
	closed                time.Time
	comments              []string
	checks                []check // as they were reported, the latest last
}

// check is a reported check of the head commit.
type check struct {
	id    int64
	name  string
	state gitprovider.ChecksState
	// word is the provider's name of the state, if it is none of ours.
	word string
	// mayFail and head are for providers that support them.
	mayFail bool
	head    string
}

// latest returns the last check of each name, in the order of their first report.
func (r *record) latest() []check {
	var found []check
	for _, c := range r.checks {
		if at := slices.IndexFunc(found, func(other check) bool { return other.name == c.name }); at >= 0 {
			found[at] = c
			continue
		}
		found = append(found, c)
	}
	return found
}

// said adds a check.
func (r *record) said(c check) {
	c.id = int64(len(r.checks) + 1)
	if c.head == "" {
		c.head = r.headCommit
	}
	r.checks = append(r.checks, c)
}

// called returns a provider's name of the state of a check.
func (c check) called(words map[gitprovider.ChecksState]string) string {
	if c.word != "" {
		return c.word
	}
	return words[c.state]
}

// byCommit returns the pull request with a head; an empty one if there is none.
func (b *book) byCommit(commit string) *record {
	for _, r := range b.records {
		if r.headCommit == commit {
			return r
		}
	}
	return &record{}
}

func newBook() *book {
	return &book{
		now:      time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
		branches: map[string]string{"main": commitOf("main"), "release/1.0": commitOf("release")},
	}
}

func commitOf(name string) string { return fmt.Sprintf("%040x", []byte(name)[:min(20, len(name))]) }

func (b *book) tick() time.Time {
	b.now = b.now.Add(5 * time.Minute)
	return b.now
}

func (b *book) pushed(branch string) {
	b.Lock()
	defer b.Unlock()
	b.branches[branch] = commitOf(branch)
}

func (b *book) find(number int64) *record {
	for _, r := range b.records {
		if r.number == number {
			return r
		}
	}
	return nil
}

// duplicate returns the open pull request between the branches.
func (b *book) duplicate(head, base string) *record {
	for _, r := range b.records {
		if r.state == gitprovider.Open && !r.fork && r.head == head && r.base == base {
			return r
		}
	}
	return nil
}

func (b *book) add(r record) *record {
	r.number = int64(len(b.records) + 11)
	r.created = b.tick()
	r.updated = r.created
	r.headCommit = commitOf(r.head)
	r.state = gitprovider.Open
	b.records = append(b.records, &r)
	return &r
}

func (b *book) end(r *record, state gitprovider.State, by string) {
	r.state, r.closedBy, r.closed = state, by, b.tick()
	r.updated = r.closed
	r.version++
	if state == gitprovider.Merged {
		r.mergeCommit = fmt.Sprintf("%040d", r.number)
	}
}

func (b *book) remark(r *record, text string) {
	r.comments = append(r.comments, text)
	r.updated = b.tick()
}

// chosen returns those that keep selects, the newest by that time first.
func (b *book) chosen(by func(*record) time.Time, keep func(*record) bool) []*record {
	result := slices.DeleteFunc(slices.Clone(b.records), func(r *record) bool { return !keep(r) })
	slices.SortStableFunc(result, func(x, y *record) int {
		return cmp.Or(by(y).Compare(by(x)), cmp.Compare(y.number, x.number))
	})
	return result
}

func byCreation(r *record) time.Time { return r.created }
func byChange(r *record) time.Time   { return r.updated }
func everyRecord(*record) bool       { return true }
func openRecord(r *record) bool      { return r.state == gitprovider.Open }

// part returns a page and reports whether there is another one.
func part(records []*record, size, page int) ([]*record, bool) {
	from, to := min((page-1)*size, len(records)), min(page*size, len(records))
	return records[from:to], to < len(records)
}
