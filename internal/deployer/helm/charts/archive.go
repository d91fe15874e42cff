// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package charts

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"path"
	"regexp"
	"strings"

	"helm.sh/helm/v4/pkg/chart/loader/archive"
)

// Limits of a chart, including the charts packed inside it.
const (
	maxArchiveBytes = 32 << 20 // packed
	maxBytes        = 64 << 20
	maxFileBytes    = 16 << 20
	maxFiles        = 10_000
	maxDepth        = 8 // charts within charts
)

var byteOrderMark = []byte{0xEF, 0xBB, 0xBF}

// unpack reads a packed chart. Packed charts inside it become folders, so that one budget covers all of them.
func unpack(data []byte) ([]*archive.BufferedFile, error) {
	u := &unpacker{bytes: maxBytes, files: maxFiles}
	return u.unpack(data, 0)
}

// unpacker is the budget shared by an archive and the archives inside it.
type unpacker struct {
	bytes int64
	files int
}

func (u *unpacker) unpack(data []byte, depth int) ([]*archive.BufferedFile, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("charts are nested more than %d levels deep", maxDepth)
	}
	files, err := u.read(data)
	if err != nil {
		return nil, err
	}
	var result []*archive.BufferedFile
	for _, file := range files {
		if !isPackedChart(file.Name) {
			result = append(result, file)
			continue
		}
		inner, err := u.unpack(file.Data, depth+1)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file.Name, err)
		}
		folder := strings.TrimSuffix(file.Name, packedSuffix) + unpackedSuffix
		for _, each := range inner {
			result = append(result, &archive.BufferedFile{Name: folder + "/" + each.Name, ModTime: each.ModTime, Data: each.Data})
		}
	}
	return result, nil
}

const (
	packedSuffix = ".tgz"
	// unpackedSuffix distinguishes the folder of a packed chart from one that already existed. It is never visible: Helm
	// takes the names of charts from their Chart.yaml.
	unpackedSuffix = "+unpacked"
)

// isPackedChart reports whether Helm unpacks a file.
func isPackedChart(name string) bool {
	base, inCharts := strings.CutPrefix(name, "charts/")
	return inCharts && !strings.Contains(base, "/") && strings.HasSuffix(base, packedSuffix) && !strings.HasPrefix(base, "_") && !strings.HasPrefix(base, ".")
}

// read returns the files of an archive without their common top folder.
func (u *unpacker) read(data []byte) ([]*archive.BufferedFile, error) {
	unzipped, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("not compressed with gzip: %w", err)
	}
	defer unzipped.Close()
	// Bytes outside of files count, too: an archive may consist of headers alone. One byte more than allowed distinguishes
	// an archive that is too large from one that just fits.
	limited := &io.LimitedReader{R: unzipped, N: u.bytes + maxFiles*1024 + 1}
	packed := tar.NewReader(limited)
	var files []*archive.BufferedFile
	for {
		header, err := packed.Next()
		if errors.Is(err, io.EOF) && limited.N > 0 {
			return files, nil
		}
		if limited.N <= 0 {
			return nil, tooLarge()
		}
		if err != nil {
			return nil, fmt.Errorf("not a tar archive: %w", err)
		}
		file, err := u.take(header, packed)
		if err != nil {
			return nil, err
		}
		if file != nil {
			files = append(files, file)
		}
	}
}

func tooLarge() error { return fmt.Errorf("more than %d bytes when unpacked", maxBytes) }

// take reads one entry; nil for entries that are not files.
func (u *unpacker) take(header *tar.Header, content io.Reader) (*archive.BufferedFile, error) {
	switch header.Typeflag {
	case tar.TypeDir, tar.TypeXGlobalHeader, tar.TypeXHeader:
		return nil, nil
	case tar.TypeReg:
	default:
		return nil, fmt.Errorf("%s: only files and directories are allowed, no links or devices", header.Name)
	}
	name, err := nameInside(header.Name)
	if err != nil {
		return nil, err
	}
	switch {
	case u.files == 0:
		return nil, fmt.Errorf("more than %d files", maxFiles)
	case header.Size > u.bytes:
		return nil, tooLarge()
	case header.Size > maxFileBytes:
		return nil, fmt.Errorf("%s has more than %d bytes", header.Name, maxFileBytes)
	}
	u.files, u.bytes = u.files-1, u.bytes-header.Size
	text, err := io.ReadAll(content)
	if err != nil {
		return nil, fmt.Errorf("%s: cannot be read: %w", header.Name, err)
	}
	return &archive.BufferedFile{Name: name, ModTime: header.ModTime, Data: bytes.TrimPrefix(text, byteOrderMark)}, nil
}

var drive = regexp.MustCompile(`^[A-Za-z]:`)

// nameInside returns the name of a file without the chart's folder.
func nameInside(name string) (string, error) {
	slashed := strings.ReplaceAll(name, `\`, "/")
	folder, inside, found := strings.Cut(slashed, "/")
	if !found {
		return "", fmt.Errorf("%s is not in a folder: pack the folder of the chart, not its files", name)
	}
	clean := path.Clean(inside)
	switch {
	case folder == "" || folder == "..":
		return "", fmt.Errorf("%s leads out of the chart", name)
	case clean == "." || clean == ".." || strings.HasPrefix(clean, "../") || path.IsAbs(clean) || drive.MatchString(clean):
		return "", fmt.Errorf("%s leads out of the chart", name)
	}
	return clean, nil
}
