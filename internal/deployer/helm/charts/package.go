// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package charts

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	chart "helm.sh/helm/v4/pkg/chart/v2"

	"helm.sh/helm/v4/pkg/chart/loader/archive"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
)

// Package is a chart that has been read. It is immutable, so it may be shared.
type Package struct {
	// Digest is a hash of the names and contents of all files. It does not depend on how they were packed.
	Digest string
	// Metadata is the content of the chart's Chart.yaml.
	Metadata chart.Metadata

	files []*archive.BufferedFile
	bytes int
}

// Open reads a packed chart, and checks that it can be installed.
func Open(data []byte) (*Package, error) {
	files, err := unpack(data)
	if err != nil {
		return nil, fmt.Errorf("unpack the chart: %w", err)
	}
	opened := &Package{files: files, Digest: digestOf(files)}
	for _, file := range files {
		opened.bytes += len(file.Data)
	}
	loaded, err := opened.Load()
	if err != nil {
		return nil, err
	}
	opened.Metadata = *loaded.Metadata
	return opened, check(loaded)
}

// Load returns a fresh copy of the chart: Helm modifies the charts that it works with.
func (p *Package) Load() (*chart.Chart, error) {
	loaded, err := loader.LoadFiles(p.files)
	if err != nil {
		return nil, fmt.Errorf("load the chart: %w", err)
	}
	// Helm keeps the charts within a chart in a map. Their order must be deterministic: of two templates of the same name,
	// the last one applies.
	sortDependencies(loaded)
	return loaded, nil
}

func sortDependencies(c *chart.Chart) {
	inner := slices.Clone(c.Dependencies())
	slices.SortStableFunc(inner, func(a, b *chart.Chart) int {
		return strings.Compare(a.Name()+"\x00"+a.Metadata.Version, b.Name()+"\x00"+b.Metadata.Version)
	})
	c.SetDependencies(inner...)
	for _, each := range inner {
		sortDependencies(each)
	}
}

// check rejects charts that cannot be installed.
func check(c *chart.Chart) error {
	if c.Metadata.Type != "" && c.Metadata.Type != "application" {
		return fmt.Errorf("chart %s has type %s, which cannot be installed", c.Name(), c.Metadata.Type)
	}
	inside := map[string]bool{}
	for _, each := range c.Dependencies() {
		inside[each.Name()] = true
	}
	for _, needed := range c.Metadata.Dependencies {
		if needed == nil {
			return errors.New("a dependency in Chart.yaml is empty")
		}
		if !inside[needed.Name] {
			return fmt.Errorf("chart %s needs chart %s, which is not in its folder charts: package it with its dependencies", c.Name(), needed.Name)
		}
	}
	return nil
}

func digestOf(files []*archive.BufferedFile) string {
	sorted := slices.Clone(files)
	slices.SortFunc(sorted, func(a, b *archive.BufferedFile) int {
		if byName := strings.Compare(a.Name, b.Name); byName != 0 {
			return byName
		}
		return bytes.Compare(a.Data, b.Data)
	})
	hash := sha256.New()
	var length [8]byte
	for _, file := range sorted {
		for _, part := range [][]byte{[]byte(file.Name), file.Data} {
			binary.BigEndian.PutUint64(length[:], uint64(len(part)))
			hash.Write(length[:])
			hash.Write(part)
		}
	}
	return hex.EncodeToString(hash.Sum(nil))
}

// Looks reports whether rendering depends on more than the values: whether a template contains the word lookup.
func (p *Package) Looks() bool {
	return slices.ContainsFunc(p.files, func(file *archive.BufferedFile) bool {
		return strings.Contains(file.Name, "templates/") && bytes.Contains(file.Data, []byte("lookup"))
	})
}
