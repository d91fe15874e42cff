// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package offline

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"espalier.dev/internal/blueprint"
)

// Limits of the archive of a blueprint.
const (
	maxArchiveBytes = 32 << 20
	maxArchiveFiles = 10_000
)

// readArchive reads a tar archive, packed with gzip or not, into memory. It takes files and directories that stay inside,
// and refuses everything else.
func readArchive(data []byte) (blueprint.Files, error) {
	var stream io.Reader = bytes.NewReader(data)
	if bytes.HasPrefix(data, []byte{0x1f, 0x8b}) {
		unpacked, err := gzip.NewReader(stream)
		if err != nil {
			return nil, fmt.Errorf("unpack the blueprint: %w", err)
		}
		stream = unpacked
	}
	// One byte more than allowed tells a large archive from one that just fits.
	limited := &io.LimitedReader{R: stream, N: maxArchiveBytes + 1}
	archive := tar.NewReader(limited)
	files := blueprint.Files{}
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return files, nil
		}
		if err == nil {
			err = addEntry(files, header, archive)
		}
		if limited.N <= 0 {
			return nil, fmt.Errorf("unpack the blueprint: it has more than %d bytes", maxArchiveBytes)
		}
		if err != nil {
			return nil, fmt.Errorf("unpack the blueprint: %w", err)
		}
	}
}

func addEntry(files blueprint.Files, header *tar.Header, content io.Reader) error {
	name := path.Clean(strings.TrimLeft(header.Name, "/"))
	switch {
	case name == ".." || strings.HasPrefix(name, "../"):
		return fmt.Errorf("%s leads out of the blueprint", header.Name)
	case header.Typeflag == tar.TypeDir:
		return nil
	case header.Typeflag != tar.TypeReg:
		return fmt.Errorf("%s: only files and directories are allowed, no links or devices", header.Name)
	case len(files) >= maxArchiveFiles:
		return fmt.Errorf("there are more than %d files", maxArchiveFiles)
	}
	text, err := io.ReadAll(content)
	if err != nil {
		return err
	}
	files[name] = text
	return nil
}
