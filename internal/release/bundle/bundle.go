// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package bundle packs files such that the same files give the same bytes: in the order of their names, with one time for all of them, and
// without owners.
package bundle

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"time"
)

// File is a file of an archive, or a directory if the mode says so.
type File struct {
	// Name is a relative path with slashes.
	Name    string
	Mode    fs.FileMode
	Content []byte
}

// Modes of packed files. Everybody may run a program; only its owner may change it.
const (
	Text    fs.FileMode = 0o644
	Program fs.FileMode = 0o755
	Folder              = fs.ModeDir | 0o755
)

// Tar packs files into an archive.
func Tar(files []File, at time.Time) ([]byte, error) {
	var buffer bytes.Buffer
	writer := tar.NewWriter(&buffer)
	for _, file := range sorted(files) {
		if err := writeEntry(writer, file, at); err != nil {
			return nil, fmt.Errorf("pack %s: %w", file.Name, err)
		}
	}
	if err := writer.Close(); err != nil {
		return nil, fmt.Errorf("pack: %w", err)
	}
	return buffer.Bytes(), nil
}

func writeEntry(writer *tar.Writer, file File, at time.Time) error {
	header := &tar.Header{
		Typeflag: tar.TypeReg, Name: file.Name, Mode: permissions(file.Mode), Size: int64(len(file.Content)), ModTime: at.UTC(),
		Format: tar.FormatPAX,
	}
	if file.Mode.IsDir() {
		header.Typeflag, header.Name, header.Size = tar.TypeDir, strings.TrimSuffix(file.Name, "/")+"/", 0
	}
	if err := writer.WriteHeader(header); err != nil {
		return err
	}
	_, err := writer.Write(file.Content)
	return err
}

// permissions returns the Unix permissions of a file, including the sticky bit.
func permissions(mode fs.FileMode) int64 {
	bits := int64(mode.Perm())
	if mode&fs.ModeSticky != 0 {
		bits |= 0o1000
	}
	return bits
}

// Gzip compresses, without a name or a time.
func Gzip(content []byte) ([]byte, error) {
	var buffer bytes.Buffer
	writer := gzip.NewWriter(&buffer)
	if _, err := writer.Write(content); err != nil {
		return nil, fmt.Errorf("compress: %w", err)
	}
	if err := writer.Close(); err != nil {
		return nil, fmt.Errorf("compress: %w", err)
	}
	return buffer.Bytes(), nil
}

// TarGz packs files into a compressed archive.
func TarGz(files []File, at time.Time) ([]byte, error) {
	content, err := Tar(files, at)
	if err != nil {
		return nil, err
	}
	return Gzip(content)
}

// Zip packs files into a zip archive, for Windows.
func Zip(files []File, at time.Time) ([]byte, error) {
	var buffer bytes.Buffer
	writer := zip.NewWriter(&buffer)
	for _, file := range sorted(files) {
		header := &zip.FileHeader{Name: file.Name, Method: zip.Deflate, Modified: at.UTC()}
		header.SetMode(file.Mode)
		entry, err := writer.CreateHeader(header)
		if err != nil {
			return nil, fmt.Errorf("pack %s: %w", file.Name, err)
		}
		if _, err := entry.Write(file.Content); err != nil {
			return nil, fmt.Errorf("pack %s: %w", file.Name, err)
		}
	}
	if err := writer.Close(); err != nil {
		return nil, fmt.Errorf("pack: %w", err)
	}
	return buffer.Bytes(), nil
}

func sorted(files []File) []File {
	files = slices.Clone(files)
	slices.SortFunc(files, func(a, b File) int { return strings.Compare(a.Name, b.Name) })
	return files
}

// Read returns the regular files below a directory that keep selects, with the modes of Text.
func Read(root fs.FS, keep func(name string) bool) ([]File, error) {
	var files []File
	err := fs.WalkDir(root, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() || !keep(name) {
			return err
		}
		content, err := fs.ReadFile(root, name)
		files = append(files, File{Name: name, Mode: Text, Content: content})
		return err
	})
	return files, err
}

// Checksums returns the SHA-256 of all files in a directory, in the format of sha256sum. It omits folders.
func Checksums(directory fs.FS) (string, error) {
	entries, err := fs.ReadDir(directory, ".")
	if err != nil {
		return "", err
	}
	var lines strings.Builder
	for _, entry := range entries {
		if !entry.Type().IsRegular() {
			continue
		}
		sum, err := sumOf(directory, entry.Name())
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&lines, "%s  %s\n", sum, entry.Name())
	}
	return lines.String(), nil
}

func sumOf(directory fs.FS, name string) (string, error) {
	file, err := directory.Open(name)
	if err != nil {
		return "", err
	}
	defer file.Close()
	return Sum(file)
}

// Sum returns the SHA-256 of what is read, in hexadecimal.
func Sum(from io.Reader) (string, error) {
	hash := sha256.New()
	if _, err := io.Copy(hash, from); err != nil {
		return "", err
	}
	return fmt.Sprintf("%x", hash.Sum(nil)), nil
}
