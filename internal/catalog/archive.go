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
	files, err := unpack(data, maxArchiveBytes)
	if err != nil {
		return nil, Invalid(ReasonBlueprintInvalid, fmt.Errorf("unpack the blueprint: %w", err))
	}
	return files, nil
}

// unpack takes a number of bytes at the most, both of the archive when it is no longer compressed and of its files.
func unpack(data []byte, most int64) (blueprint.Files, error) {
	var stream io.Reader = bytes.NewReader(data)
	if bytes.HasPrefix(data, []byte{0x1f, 0x8b}) {
		unpacked, err := gzip.NewReader(stream)
		if err != nil {
			return nil, err
		}
		stream = unpacked
	}
	// One byte more than allowed tells a large archive from one that just fits.
	limited := &io.LimitedReader{R: stream, N: most + 1}
	archive := tar.NewReader(limited)
	u := unpacker{files: blueprint.Files{}, left: most}
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return u.files, nil
		}
		if err == nil {
			err = u.add(header, archive)
		}
		if limited.N <= 0 {
			return nil, tooLarge(most)
		}
		if err != nil {
			return nil, err
		}
	}
}

func tooLarge(most int64) error { return fmt.Errorf("it has more than %d bytes", most) }

type unpacker struct {
	files blueprint.Files
	// left is how many bytes more there may be.
	left int64
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
	case header.Size > u.left:
		// A sparse file is larger than what the archive holds of it, so it has to be refused before it is read.
		return fmt.Errorf("%s: it and the files before it are too large", header.Name)
	}
	u.left -= header.Size
	text, err := io.ReadAll(content)
	if err != nil {
		return err
	}
	u.files[name] = text
	return nil
}
