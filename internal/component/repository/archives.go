// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package repository

import (
	"fmt"
	"io/fs"

	"espalier.dev/internal/lru"
	"espalier.dev/internal/oci"
)

// Archives are packed archives of one file system, which are read once and kept in memory as long as there is room for them. One that has
// another time or size than before is read again. It is safe for concurrent use.
type Archives struct {
	opened *lru.Cache[*oci.Archive]
}

// NewArchives returns archives of which none is open.
func NewArchives() *Archives {
	return &Archives{opened: lru.NewCache[*oci.Archive](archiveCacheBytes)}
}

// open returns an archive. That of a directory is not kept: opening it costs nothing, and its time does not tell of changes in it.
func (a *Archives) open(in fs.FS, name string) (*oci.Archive, error) {
	info, err := fs.Stat(in, name)
	if a == nil || err != nil || !info.Mode().IsRegular() {
		return oci.OpenArchive(in, name)
	}
	key := lru.KeyOf([]byte(name), fmt.Append(nil, info.ModTime().UnixNano(), " ", info.Size()))
	return a.opened.Get(key, func() (*oci.Archive, int, error) {
		opened, err := oci.OpenArchive(in, name)
		if err != nil {
			return nil, 0, err
		}
		return opened, opened.InMemory(), nil
	})
}
