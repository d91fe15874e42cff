// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
)

var gzipMagic = []byte{0x1f, 0x8b}

// IsGzip reports whether data starts like gzip.
func IsGzip(data []byte) bool { return bytes.HasPrefix(data, gzipMagic) }

// Gunzip decompresses gzip data, up to a limit in bytes; it returns other data unchanged.
func Gunzip(data []byte, most int64) ([]byte, error) {
	if !IsGzip(data) {
		return data, nil
	}
	stream, err := unpacked(bytes.NewReader(data), most)
	if err != nil {
		return nil, err
	}
	plain, err := io.ReadAll(stream)
	if err != nil {
		return nil, stream.explain(err)
	}
	return plain, nil
}

// stream is a decompressed archive. It ends with an error as soon as it exceeds a limit, in bytes or in proportion to its compressed form.
type stream struct {
	plain io.Reader
	// packed counts the bytes read of the compressed form; it is nil if there is none.
	packed *counter
	most   int64
	read   int64
}

type counter struct {
	io.Reader
	bytes int64
}

func (c *counter) Read(into []byte) (int, error) {
	n, err := c.Reader.Read(into)
	c.bytes += int64(n)
	return n, err
}

func unpacked(from io.Reader, most int64) (*stream, error) {
	packed := &counter{Reader: from}
	buffered := bufio.NewReader(packed)
	magic, err := buffered.Peek(len(gzipMagic))
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if !bytes.Equal(magic, gzipMagic) {
		return &stream{plain: buffered, most: most}, nil
	}
	plain, err := gzip.NewReader(buffered)
	if err != nil {
		return nil, fmt.Errorf("decompress: %w", err)
	}
	return &stream{plain: plain, packed: packed, most: most}, nil
}

var errTooLarge = errors.New("too large")

func (s *stream) Read(into []byte) (int, error) {
	// One byte more than the limit distinguishes a large archive from one that just fits.
	n, err := s.plain.Read(into[:min(int64(len(into)), s.most-s.read+1)])
	s.read += int64(n)
	switch {
	case s.read > s.most:
		return 0, fmt.Errorf("%w: it has more than %d bytes", errTooLarge, s.most)
	case s.packed != nil && s.read > freeBytes && s.read > maxRatio*s.packed.bytes:
		return 0, fmt.Errorf("%w: it is more than %d times as large as its packed form", errTooLarge, maxRatio)
	}
	return n, err
}

// explain words the error of a truncated archive so that it does not sound like a failed connection.
func (s *stream) explain(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("it is cut off: %w", err)
	}
	return err
}
