// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package archive

// Limits bound the cost of reading one archive. All of them apply after decompression.
type Limits struct {
	// Bytes is the size of the whole archive.
	Bytes int64
	// FileBytes is the size of a single file.
	FileBytes int64
	// Entries is how many files and directories there may be.
	Entries int
	// Depth is how many directories may enclose a file.
	Depth int
}

// Default leaves room for directories many times as large as the blueprints and charts in use.
var Default = Limits{Bytes: 32 << 20, FileBytes: 16 << 20, Entries: 10_000, Depth: 64}

const (
	// maxRatio is how many times as large as its packed form an archive may be, and freeBytes is what it may unpack to
	// before that counts: a short text of blanks packs well, too.
	maxRatio  = 250
	freeBytes = 1 << 20
)
