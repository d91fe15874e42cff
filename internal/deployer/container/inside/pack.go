// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package inside

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
)

const (
	fileMode = 0o664
	dirMode  = 0o775
	// maxUnpacked bounds the unpacked size of an archive.
	maxUnpacked = 1 << 30
)

// Pack packs a directory as tar and gzip; nil if it is empty. Links are kept as links and never followed; everything except files,
// directories and links is omitted. The archive has at most the given number of bytes.
func Pack(root *os.Root, most int) ([]byte, error) {
	buffer := &bounded{most: most}
	zipped := gzip.NewWriter(buffer)
	p := packer{root: root, archive: tar.NewWriter(zipped)}
	if err := fs.WalkDir(root.FS(), ".", p.add); err != nil {
		return nil, err
	}
	if err := errors.Join(p.archive.Close(), zipped.Close()); err != nil {
		return nil, err
	}
	if p.entries == 0 {
		return nil, nil
	}
	return buffer.Bytes(), nil
}

type packer struct {
	root    *os.Root
	archive *tar.Writer
	entries int
}

func (p *packer) add(name string, entry fs.DirEntry, err error) error {
	if err != nil || name == "." {
		return err
	}
	info, err := p.root.Lstat(name)
	if err != nil {
		return err
	}
	header := &tar.Header{Name: name, Mode: int64(info.Mode().Perm()), ModTime: info.ModTime()}
	switch {
	case info.Mode().IsRegular():
		return p.file(header)
	case info.IsDir():
		header.Typeflag, header.Name = tar.TypeDir, name+"/"
	case info.Mode()&fs.ModeSymlink != 0:
		header.Typeflag = tar.TypeSymlink
		if header.Linkname, err = p.root.Readlink(name); err != nil {
			return err
		}
	default:
		return nil
	}
	p.entries++
	return p.archive.WriteHeader(header)
}

// file opens the file before it reads the size, because the file may be replaced in between.
func (p *packer) file(header *tar.Header) error {
	file, err := p.root.OpenFile(header.Name, openFlags, 0)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }() // It was only read.
	info, err := file.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return err
	}
	header.Typeflag, header.Size = tar.TypeReg, info.Size()
	p.entries++
	if err := p.archive.WriteHeader(header); err != nil {
		return err
	}
	if _, err := io.CopyN(p.archive, file, info.Size()); err != nil {
		return fmt.Errorf("read %s: %w", header.Name, err)
	}
	return nil
}

// bounded is a buffer that rejects writes beyond a size.
type bounded struct {
	bytes.Buffer
	most int
}

// ErrTooLarge is the error of an archive that exceeds its limit.
var ErrTooLarge = errors.New("too large")

func (b *bounded) Write(data []byte) (int, error) {
	if b.Len()+len(data) > b.most {
		return 0, fmt.Errorf("%w: more than %d bytes when packed", ErrTooLarge, b.most)
	}
	return b.Buffer.Write(data)
}

// Unpack writes an archive of Pack into a directory, and never outside it. If damaged is set, it accepts an archive that is truncated or
// has trailing bytes, as long as all its entries are whole: earlier controllers stored such archives.
func Unpack(data io.Reader, root *os.Root, damaged bool) error {
	zipped, err := gzip.NewReader(data)
	if err != nil {
		return fmt.Errorf("not compressed with gzip: %w", err)
	}
	zipped.Multistream(false)
	limited := &io.LimitedReader{R: zipped, N: maxUnpacked}
	archive := tar.NewReader(limited)
	for {
		header, err := archive.Next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case limited.N <= 0:
			return fmt.Errorf("%w: more than %d bytes when unpacked", ErrTooLarge, int64(maxUnpacked))
		case damaged && errors.Is(err, io.ErrUnexpectedEOF):
			return nil
		case err != nil:
			return err
		}
		if err := unpackEntry(root, header, archive); err != nil {
			return fmt.Errorf("%q: %w", header.Name, err)
		}
	}
}

func unpackEntry(root *os.Root, header *tar.Header, content io.Reader) error {
	name := path.Clean(header.Name)
	if name == "." {
		return nil
	}
	if !fs.ValidPath(name) {
		return errors.New("leads out of the directory")
	}
	if err := root.MkdirAll(path.Dir(name), dirMode); err != nil {
		return err
	}
	switch header.Typeflag {
	case tar.TypeDir:
		return root.MkdirAll(name, dirMode)
	case tar.TypeSymlink:
		return root.Symlink(header.Linkname, name)
	case tar.TypeReg:
		return writeFile(root, name, fs.FileMode(header.Mode).Perm()|0o600, content)
	default:
		return nil
	}
}

func writeFile(root *os.Root, name string, mode fs.FileMode, content io.Reader) error {
	file, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, content)
	return errors.Join(err, file.Close())
}
