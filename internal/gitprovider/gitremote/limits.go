// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package gitremote

import (
	"fmt"
	"io"
	"time"

	"espalier.dev/internal/gitprovider"
)

const mebibyte = 1 << 20

// Limits limit the resources that a server can make the client use. Zero fields have the values of DefaultLimits.
type Limits struct {
	// Time is the limit for one request, including its response.
	Time time.Duration
	// References is the maximum size of a server's list of branches and tags, in bytes.
	References int64
	// Pack is the maximum size of the content that a server sends, in bytes.
	Pack int64
	// Unpacked is the maximum size of the unpacked content, in bytes.
	Unpacked int64
	// Object is the maximum size of a single file or directory, in bytes.
	Object int64
	// Objects is the maximum number of files, directories and commits that a server may send.
	Objects int
	// Entries is the maximum number of files and directories that are visited in one commit.
	Entries int
	// Searched is the maximum size of files that are read. Servers that can omit larger ones are asked to.
	Searched int64
}

// DefaultLimits suit configuration repositories, including large ones.
var DefaultLimits = Limits{
	Time:       3 * time.Minute,
	References: 64 * mebibyte,
	Pack:       512 * mebibyte,
	Unpacked:   4096 * mebibyte,
	Object:     256 * mebibyte,
	Objects:    2_000_000,
	Entries:    1_000_000,
	Searched:   8 * mebibyte,
}

func (l Limits) withDefaults() Limits {
	fill(&l.Time, DefaultLimits.Time)
	fill(&l.References, DefaultLimits.References)
	fill(&l.Pack, DefaultLimits.Pack)
	fill(&l.Unpacked, DefaultLimits.Unpacked)
	fill(&l.Object, DefaultLimits.Object)
	fill(&l.Objects, DefaultLimits.Objects)
	fill(&l.Entries, DefaultLimits.Entries)
	fill(&l.Searched, DefaultLimits.Searched)
	return l
}

func fill[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// tooLarge is permanent: a repository does not shrink.
func tooLarge(what string, limit int64) error {
	return (&gitprovider.Error{
		Class:   gitprovider.Refused,
		Message: fmt.Sprintf("%s is larger than the limit of %d", what, limit),
	}).Classified()
}

// bounded fails when more than a number of bytes is read. A silent end looks like a damaged response.
type bounded struct {
	from  io.Reader
	left  int64
	limit int64
	what  string
}

func bound(from io.Reader, limit int64, what string) *bounded {
	return &bounded{from: from, left: limit, limit: limit, what: what}
}

func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.from.Read(p)
	b.left -= int64(n)
	if b.left < 0 {
		return 0, tooLarge(b.what, b.limit)
	}
	return n, err
}
