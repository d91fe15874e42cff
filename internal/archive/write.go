// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"io/fs"
)

// fileMode is the mode of every file in an archive.
const fileMode = 0o644

// Tar writes files as a tar archive. The same files give the same bytes.
func Tar(files Files) ([]byte, error) {
	var buffer bytes.Buffer
	w := tar.NewWriter(&buffer)
	for _, name := range files.Names() {
		if !fs.ValidPath(name) {
			return nil, fmt.Errorf("%q is not a clean path", name)
		}
		header := &tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: fileMode, Size: int64(len(files[name]))}
		if err := w.WriteHeader(header); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if _, err := w.Write(files[name]); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return buffer.Bytes(), nil
}

// Gzip compresses data. The same data gives the same bytes.
func Gzip(data []byte) ([]byte, error) {
	var buffer bytes.Buffer
	w := gzip.NewWriter(&buffer)
	if _, err := w.Write(data); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return buffer.Bytes(), nil
}
