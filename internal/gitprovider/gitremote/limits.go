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

// Limits bound what a server can make us do. Fields that are zero have the values of DefaultLimits.
type Limits struct {
	// Time that one request may take, its answer included.
	Time time.Duration
	// References is the number of bytes in which a server may list its branches and tags.
	References int64
	// Pack is the number of bytes that a server may send as the content of a repository.
	Pack int64
	// Unpacked is the number of bytes that these may become.
	Unpacked int64
	// Object is the number of bytes that a single file or directory may have.
	Object int64
	// Objects is the number of files, directories and commits that a server may send.
	Objects int
	// Entries is the number of files and directories that are looked at in one commit.
	Entries int
	// Searched is the size from which on a file is not looked into. Servers that can leave such files out are asked to.
	Searched int64
}

// DefaultLimits suit repositories of configuration, large ones included.
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

// tooLarge is permanent: the repository does not become smaller by itself.
func tooLarge(what string, limit int64) error {
	return (&gitprovider.Error{
		Class:   gitprovider.Refused,
		Message: fmt.Sprintf("%s is larger than the limit of %d", what, limit),
	}).Classified()
}

// bounded fails as soon as more than a number of bytes is read. Ending there silently would look like a damaged answer.
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
