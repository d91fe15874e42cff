// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package catalog

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

// Unpack reads a tar archive, packed with gzip or not, into memory. It takes files and directories that stay inside, and
// refuses everything else: that is a fault of the archive, which no retry mends.
func Unpack(data []byte) (blueprint.Files, error) {
	files, err := unpack(data)
	if err != nil {
		return nil, Invalid(ReasonBlueprintInvalid, fmt.Errorf("unpack the blueprint: %w", err))
	}
	return files, nil
}

func unpack(data []byte) (blueprint.Files, error) {
	var stream io.Reader = bytes.NewReader(data)
	if bytes.HasPrefix(data, []byte{0x1f, 0x8b}) {
		unpacked, err := gzip.NewReader(stream)
		if err != nil {
			return nil, err
		}
		stream = unpacked
	}
	// One byte more than allowed tells a large archive from one that just fits.
	limited := &io.LimitedReader{R: stream, N: maxArchiveBytes + 1}
	archive := tar.NewReader(limited)
	u := unpacker{files: blueprint.Files{}}
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return u.files, nil
		}
		if err == nil {
			err = u.add(header, archive)
		}
		if limited.N <= 0 {
			return nil, errTooLarge
		}
		if err != nil {
			return nil, err
		}
	}
}

var errTooLarge = fmt.Errorf("it has more than %d bytes", maxArchiveBytes)

type unpacker struct {
	files blueprint.Files
	bytes int64
}

func (u *unpacker) add(header *tar.Header, content io.Reader) error {
	name := path.Clean(strings.TrimLeft(header.Name, "/"))
	switch {
	case name == ".." || strings.HasPrefix(name, "../"):
		return fmt.Errorf("%s leads out of the blueprint", header.Name)
	case header.Typeflag == tar.TypeDir:
		return nil
	case header.Typeflag != tar.TypeReg:
		return fmt.Errorf("%s: only files and directories are allowed, no links or devices", header.Name)
	case len(u.files) >= maxArchiveFiles:
		return fmt.Errorf("there are more than %d files", maxArchiveFiles)
	case header.Size > maxArchiveBytes-u.bytes:
		// A sparse file is larger than what the archive holds of it.
		return errTooLarge
	}
	u.bytes += header.Size
	text, err := io.ReadAll(content)
	if err != nil {
		return err
	}
	u.files[name] = text
	return nil
}
