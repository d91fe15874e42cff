// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package gitremote

import (
	"context"
	"os"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"
)

// inspect reads a pack once, without holding it in memory, and fails if unpacking it would exceed the limits: a malicious one can expand a
// millionfold.
func inspect(ctx context.Context, pack string, limits Limits) error {
	file, err := os.Open(pack)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	scanner := packfile.NewScanner(file)
	_, count, err := scanner.Header()
	if err != nil {
		return err
	}
	if int64(count) > int64(limits.Objects) {
		return tooLarge("the number of files, directories and commits", int64(limits.Objects))
	}
	var total int64
	for range count {
		size, err := nextSize(scanner, limits.Object)
		if err != nil {
			return err
		}
		total += size
		if total > limits.Unpacked {
			return tooLarge("the unpacked content of the repository", limits.Unpacked)
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return nil
}

// nextSize returns the unpacked size of the next object. A delta states it at its start.
func nextSize(scanner *packfile.Scanner, limit int64) (int64, error) {
	header, err := scanner.NextObjectHeader()
	if err != nil {
		return 0, err
	}
	if header.Length > limit {
		return 0, tooLarge("a file or directory", limit)
	}
	var beginning prefix
	if _, _, err := scanner.NextObject(&beginning); err != nil {
		return 0, err
	}
	size := header.Length
	if header.Type == plumbing.OFSDeltaObject || header.Type == plumbing.REFDeltaObject {
		source, rest := number(beginning.kept)
		result, _ := number(rest)
		size = max(source, size+result)
	}
	if size > limit {
		return 0, tooLarge("a file or directory", limit)
	}
	return size, nil
}

// prefix keeps the first bytes of what is written to it.
type prefix struct{ kept []byte }

const prefixLength = 32

func (p *prefix) Write(data []byte) (int, error) {
	p.kept = append(p.kept, data[:min(len(data), prefixLength-len(p.kept))]...)
	return len(data), nil
}

// number reads an integer as at the start of a delta: seven bits per byte, the lowest first. An overflow counts as too large.
func number(data []byte) (int64, []byte) {
	var value int64
	for i, b := range data {
		if i >= 8 {
			return 1 << 62, nil
		}
		value |= int64(b&0x7f) << (7 * i)
		if b&0x80 == 0 {
			return value, data[i+1:]
		}
	}
	return value, nil
}
