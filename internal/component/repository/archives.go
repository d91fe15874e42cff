// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package repository

import (
	"fmt"
	"io/fs"

	"espalier.dev/internal/lru"
	"espalier.dev/internal/oci"
)

// Archives reads packed archives of one file system once and caches them in memory up to a limit. An archive is reread when
// its time or size has changed. It is safe for concurrent use.
type Archives struct {
	opened *lru.Cache[*oci.Archive]
}

// NewArchives returns an empty cache.
func NewArchives() *Archives {
	return &Archives{opened: lru.NewCache[*oci.Archive](archiveCacheBytes)}
}

// open returns an archive. A directory is not cached: opening it is cheap, and its time does not reveal changes in it.
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
